// tests/unit/processors/recall_generation.test.cpp -- earlier cards that go
// with a day's.
#define CAF_SUITE processors.recall_generation

#include "processors/recall_generation.hpp"

#include "persistence/uuid.hpp"
#include "processors/ai/local_text.hpp"
#include "processors/recall_search.hpp"
#include "tests/unit/processors/fake_context.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <cmath>
#include <limits>
#include <stdexcept>

using namespace reeve;
using namespace std::literals;

namespace {

// 2026-03-01T00:00:00Z.
constexpr auto day_start =
  timestamp{std::chrono::sys_days{std::chrono::year{2026} / 3 / 1}};

knowledge_card card_with(std::string id, timestamp when,
                         std::vector<float> embedding) {
  knowledge_card result;
  result.id = std::move(id);
  result.scrap_id = "scrap of " + result.id;
  result.user_id = "user-1";
  result.summary = "Summary of " + result.id + ".";
  result.embedding = std::move(embedding);
  result.created_at = when;
  return result;
}

struct fixture {
  fixture()
    : context("RECALL_GENERATION", "summary-1"),
      text(std::make_shared<test::fake_text_model>()),
      uut(text) {
    daily_summary day;
    day.id = "summary-1";
    day.user_id = "user-1";
    day.date = "2026-03-01";
    day.day_start = day_start;
    day.day_end = day_start + 24h;
    context.summaries.push_back(day);
    add("today", 1h, {1, 0});
    writes("Remember.");
  }

  void add(std::string id, std::chrono::hours after_midnight,
           std::vector<float> embedding) {
    context.cards.push_back(card_with(std::move(id), day_start + after_midnight,
                                      std::move(embedding)));
  }

  void writes(std::variant<std::string, provider_failure> x) {
    text->says = [x](const text_request&, std::stop_token) { return x; };
  }

  recall_entry entry() {
    auto got = context.run(uut);
    REQUIRE(got.kind == run_outcome::completed);
    REQUIRE_EQ(got.effects.size(), 1u);
    return std::get<recall_entry>(got.effects.front());
  }

  std::vector<std::string> related() {
    std::vector<std::string> result;
    for (const auto& x : entry().related)
      result.push_back(x.card_id);
    return result;
  }

  test::fake_context context;
  std::shared_ptr<test::fake_text_model> text;
  recall_generation uut;
};

using names = std::vector<std::string>;

} // namespace

CAF_TEST_FIXTURE_SCOPE(recall_generation_tests, fixture)

CAF_TEST(a vanished summary fails for good with the agreed text) {
  context.summaries.clear();
  auto got = context.run(uut);
  CHECK(got.kind == run_outcome::failed_permanently);
  CHECK_EQ(got.message, "Target data not found (Already deleted)");
}

CAF_TEST(a day without cards recalls nothing) {
  context.cards.clear();
  add("old", -48h, {1, 0});
  auto got = context.run(uut);
  CHECK(got.kind == run_outcome::failed_permanently);
  CHECK_EQ(got.message, "no cards on 2026-03-01");
  CHECK(text->requests.empty());
}

CAF_TEST(no earlier card is said without asking a model) {
  auto got = entry();
  CHECK_EQ(got.content, "No earlier card goes with those of 2026-03-01.");
  CHECK_EQ(got.model, "none");
  CHECK(got.related.empty());
  CHECK(text->requests.empty());
  CHECK(context.acquired.empty());
  CHECK(context.steps.at(0).step.provider.empty());
}

CAF_TEST(earlier cards that fit are recalled) {
  add("near", -48h, {0.9f, 0.1f});
  add("far", -72h, {0, 1});
  add("nearest", -24h * 30, {2, 0});
  add("tomorrow", 24h, {1, 0});
  auto got = context.run(uut);
  REQUIRE(got.kind == run_outcome::completed);
  const auto& made = std::get<recall_entry>(got.effects.at(0));
  CHECK(is_uuid(made.id));
  CHECK_EQ(made.daily_summary_id, "summary-1");
  CHECK_EQ(made.job_id, context.job_.id);
  CHECK_EQ(made.user_id.value_or(""), "user-1");
  CHECK_EQ(made.content, "Remember.");
  CHECK_EQ(made.model, "prose-1-20260101");
  REQUIRE_EQ(made.related.size(), 2u);
  CHECK_EQ(made.related[0].card_id, "nearest");
  CHECK(std::abs(made.related[0].similarity - 1) < 1e-6);
  CHECK_EQ(made.related[1].card_id, "near");
  CHECK_EQ(got.result["recall_id"], made.id);
  CHECK_EQ(got.result["related"].size(), 2u);
  REQUIRE_EQ(text->requests.size(), 1u);
  CHECK(text->requests.front().system.starts_with("task: recall\n"));
  CHECK_EQ(text->requests.front().prompt,
           "date: 2026-03-01\n"
           "today: Summary of today.\n"
           "earlier: 2026-01-30: Summary of nearest.\n"
           "earlier: 2026-02-27: Summary of near.\n");
}

CAF_TEST(what is hardly alike is not brought up) {
  add("above", -1h, {0.21f, std::sqrt(1 - 0.21f * 0.21f)});
  add("below", -1h, {0.19f, std::sqrt(1 - 0.19f * 0.19f)});
  add("against", -1h, {-1, 0});
  CHECK_EQ(related(), names{"above"});
}

CAF_TEST(the best five are enough) {
  for (int i = 0; i < 30; ++i)
    add("old-" + std::to_string(i), std::chrono::hours{-i - 1},
        {1, 0.01f * static_cast<float>(i)});
  CHECK_EQ(related(), (names{"old-0", "old-1", "old-2", "old-3", "old-4"}));
}

CAF_TEST(other users and other cards of the same scrap do not count) {
  add("theirs", -1h, {1, 0});
  context.cards.back().user_id = "user-2";
  add("nobodys", -1h, {1, 0});
  context.cards.back().user_id.reset();
  add("same scrap", -1h, {1, 0});
  context.cards.back().scrap_id = "scrap of today";
  CHECK(related().empty());
  // Nobody's day has nobody's cards only.
  context.steps.clear();
  context.job_.user_id.reset();
  context.summaries.front().user_id.reset();
  context.cards.front().user_id.reset();
  CHECK_EQ(related(), names{"nobodys"});
}

CAF_TEST(a node that dies after writing does not write again) {
  add("old", -1h, {1, 0});
  context.run_and_die_after(uut, 1);
  add("older", -2h, {1, 0});
  CHECK_EQ(related(), names{"old"});
  CHECK_EQ(text->requests.size(), 1u);
}

CAF_TEST(a failure of the model stores only its price) {
  add("old", -1h, {1, 0});
  writes(provider_failure{
    run_outcome::provider_down, "away", {}, lane_effect::outage});
  auto got = context.run(uut);
  CHECK(got.kind == run_outcome::provider_down);
  CHECK_EQ(context.step_names(), std::vector<std::string>{"text (failed)"});
  CHECK_EQ(context.steps.at(0).step.used, (usage{100, 0, 0}));
  CHECK(got.effects.empty());
}

CAF_TEST(the local model understands what it is asked) {
  add("old", -1h, {1, 0});
  recall_generation local{std::make_shared<local_text>()};
  auto got = context.run(local);
  REQUIRE(got.kind == run_outcome::completed);
  const auto& made = std::get<recall_entry>(got.effects.front());
  CHECK_EQ(made.content, "Summary of old.");
}

CAF_TEST(the mean is one of directions) {
  auto card = [](std::vector<float> x) { return card_with("x", {}, x); };
  // A long embedding counts no more than a short one.
  auto mean = mean_embedding({card({100, 0}), card({0, 0.01f})});
  REQUIRE_EQ(mean.size(), 2u);
  CHECK(std::abs(mean[0] - mean[1]) < 1e-6f);
  CHECK(mean[0] > 0);
  CHECK(mean_embedding({}).empty());
  CHECK(mean_embedding({card({})}).empty());
  CHECK(mean_embedding({card({0, 0})}).empty());
  CHECK(mean_embedding({card({1, 0}), card({-1, 0})}).empty());
  auto nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(mean_embedding({card({nan, 1})}).empty());
  CHECK_EQ(mean_embedding({card({nan, 1}), card({0, 2})}),
           (std::vector<float>{0, 0.5f}));
}

CAF_TEST(only the most common number of dimensions counts) {
  auto card = [](std::vector<float> x) { return card_with("x", {}, x); };
  CHECK_EQ(mean_embedding({card({1, 0}), card({1, 0}), card({0, 0, 1})}).size(),
           2u);
  CHECK_EQ(mean_embedding({card({1, 0}), card({0, 0, 1})}).size(), 3u);
  add("today-2", 2h, {1, 0, 0});
  add("today-3", 3h, {1, 0, 0});
  add("of two", -1h, {1, 0});
  add("of three", -1h, {1, 0, 0});
  CHECK_EQ(related(), names{"of three"});
}

CAF_TEST(there is no recall without a model) {
  CHECK_THROWS_AS(recall_generation{nullptr}, std::invalid_argument);
  CHECK_EQ(uut.lanes(), std::vector<std::string>{"prose/prose-1"});
}

CAF_TEST_FIXTURE_SCOPE_END()
