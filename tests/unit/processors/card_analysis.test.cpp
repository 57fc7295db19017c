// tests/unit/processors/card_analysis.test.cpp -- from a scrap to a card, and
// what may come between.
#define CAF_SUITE processors.card_analysis

#include "processors/card_analysis.hpp"

#include "persistence/uuid.hpp"
#include "processors/ai/analysis_check.hpp"
#include "processors/ai/local_analysis.hpp"
#include "tests/unit/processors/fake_context.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <functional>
#include <limits>
#include <stdexcept>

using namespace reeve;
using namespace std::literals;

namespace {

using answer = std::variant<analysis, provider_failure>;

class fake_model final : public analysis_model {
public:
  lane_key lane() const override {
    return key;
  }

  provider_answer<analysis> analyze(const scrap& text,
                                    call_scope scope) override {
    ++calls;
    provider_answer<analysis> result;
    result.result = says(text, scope.stop);
    result.used.input_tokens = 12;
    return result;
  }

  provider_answer<std::vector<float>> embed(const std::string&,
                                            call_scope) override {
    throw std::logic_error("a card has its embedding from its analysis");
  }

  std::function<answer(const scrap&, std::stop_token)> says;
  lane_key key{"analysis-server", "default"};
  int calls = 0;
};

analysis good() {
  return {"A summary.", {"one", "two"}, {0.6f, 0.8f}, "model-1"};
}

struct fixture {
  fixture()
    : context("CARD_ANALYSIS", "scrap-1"),
      model(std::make_shared<fake_model>()),
      uut(model) {
    context.scraps["scrap-1"] =
      scrap{"scrap-1", "A text.", "A title", {}, "user-1", {}};
    says(good());
  }

  void says(answer x) {
    model->says = [x](const scrap&, std::stop_token) { return x; };
  }

  outcome run_with(answer x) {
    says(std::move(x));
    context.steps.clear();
    return context.run(uut);
  }

  knowledge_card card_with(answer x) {
    return card_of(run_with(std::move(x)));
  }

  static knowledge_card card_of(const outcome& got) {
    REQUIRE(got.kind == run_outcome::completed);
    REQUIRE_EQ(got.effects.size(), 1u);
    return std::get<knowledge_card>(got.effects.front());
  }

  void refuses(analysis x, const std::string& message) {
    auto got = run_with(std::move(x));
    CHECK(got.kind == run_outcome::failed);
    CHECK_EQ(got.message, message);
    CHECK(got.effects.empty());
  }

  test::fake_context context;
  std::shared_ptr<fake_model> model;
  card_analysis uut;
};

} // namespace

CAF_TEST_FIXTURE_SCOPE(card_analysis_tests, fixture)

CAF_TEST(a vanished target fails for good with the agreed text) {
  context.scraps.clear();
  auto got = context.run(uut);
  CHECK(got.kind == run_outcome::failed_permanently);
  CHECK_EQ(got.message, "Target data not found (Already deleted)");
  CHECK(got.effects.empty());
  CHECK_EQ(model->calls, 0);
  CHECK_EQ(context.look_ups, std::vector<std::string>{"scrap scrap-1"});
}

CAF_TEST(somebody elses scrap is as good as gone) {
  context.scraps["scrap-1"].user_id = "user-2";
  auto got = context.run(uut);
  CHECK(got.kind == run_outcome::failed_permanently);
  CHECK_EQ(got.message, std::string{target_gone_message});
  CHECK(got.effects.empty());
  CHECK_EQ(model->calls, 0);
}

CAF_TEST(an operators job may use any scrap and any job a scrap of nobody) {
  context.job_.user_id.reset();
  CHECK(context.run(uut).kind == run_outcome::completed);
  context.job_.user_id = "user-1";
  context.scraps["scrap-1"].user_id.reset();
  context.steps.clear();
  CHECK(context.run(uut).kind == run_outcome::completed);
  CHECK_EQ(model->calls, 2);
}

CAF_TEST(an analysis of no use is paid for all the same) {
  auto bad = good();
  bad.summary = "";
  CHECK(run_with(bad).kind == run_outcome::failed);
  REQUIRE_EQ(context.step_names(),
             std::vector<std::string>{"analysis (failed)"});
  const auto& kept = context.steps.front().step;
  CHECK_EQ(kept.used.input_tokens, 12u);
  CHECK_EQ(kept.provider, "analysis-server");
  CHECK_EQ(kept.model, "default");
  // The next run pays again, and its card is stored.
  says(good());
  CHECK(context.run(uut).kind == run_outcome::completed);
  CHECK_EQ(context.step_names(),
           (std::vector<std::string>{"analysis (failed)", "analysis"}));
}

CAF_TEST(a stop while the scrap is looked up passes through) {
  context.on_look_up = [this] { context.source.request_stop(); };
  CHECK(context.run(uut).kind == run_outcome::cancelled);
  CHECK_EQ(model->calls, 0);
}

CAF_TEST(a stopped run asks no model) {
  context.source.request_stop();
  CHECK(context.run(uut).kind == run_outcome::cancelled);
  CHECK_EQ(model->calls, 0);
}

CAF_TEST(the model gets the scrap and the stop token of the run) {
  scrap seen;
  model->says = [&](const scrap& text, std::stop_token stop) -> answer {
    seen = text;
    context.source.request_stop();
    if (stop.stop_requested())
      return provider_failure{run_outcome::cancelled, "stopped", {}, {}};
    return good();
  };
  CHECK(context.run(uut).kind == run_outcome::cancelled);
  CHECK_EQ(seen.content, "A text.");
  CHECK_EQ(seen.title.value_or(""), "A title");
}

CAF_TEST(a provider failure keeps its kind and message and delay) {
  for (auto kind : {run_outcome::failed, run_outcome::failed_permanently,
                    run_outcome::throttled, run_outcome::provider_down}) {
    MESSAGE("kind: " << std::string{to_string(kind)});
    auto got = run_with(provider_failure{kind, "the reason", 7s, {}});
    CHECK(got.kind == kind);
    CHECK_EQ(got.message, "the reason");
    CHECK(got.effects.empty());
    auto delays =
      kind == run_outcome::throttled || kind == run_outcome::provider_down;
    CHECK_EQ(got.delay.has_value(), delays);
    if (delays)
      CHECK(got.delay == 7s);
  }
  auto got = run_with(provider_failure{run_outcome::cancelled, "x", {}, {}});
  CHECK(got.kind == run_outcome::cancelled);
}

CAF_TEST(a provider cannot complete or lose a run by its failure) {
  for (auto kind :
       {run_outcome::completed, run_outcome::lost, run_outcome::snoozed,
        run_outcome::interrupted, run_outcome::timed_out})
    CHECK(run_with(provider_failure{kind, "x", {}, {}}).kind
          == run_outcome::failed);
}

CAF_TEST(a good analysis becomes result and card) {
  auto got = context.run(uut);
  auto card = card_of(got);
  CHECK(is_uuid(card.id));
  CHECK_EQ(card.scrap_id, "scrap-1");
  CHECK_EQ(card.job_id, context.job_.id);
  CHECK_EQ(card.user_id.value_or(""), "user-1");
  CHECK_EQ(card.summary, "A summary.");
  CHECK_EQ(card.tags, (std::vector<std::string>{"one", "two"}));
  CHECK_EQ(card.embedding, (std::vector<float>{0.6f, 0.8f}));
  CHECK_EQ(card.model, "model-1");
  CHECK(got.result
        == nlohmann::json({{"card_id", card.id},
                           {"scrap_id", "scrap-1"},
                           {"model", "model-1"},
                           {"tags", {"one", "two"}}}));
  CHECK_EQ(
    context.reports,
    (std::vector<std::pair<int, std::string>>{{0, "looking up the scrap"},
                                              {10, "analysing"},
                                              {90, "storing the card"}}));
}

CAF_TEST(each run makes a card of its own) {
  auto first = card_of(context.run(uut)).id;
  CHECK_NE(first, card_of(context.run(uut)).id);
}

CAF_TEST(tags are cleaned) {
  auto x = good();
  x.tags = {"  two  words ", "", " \t", "one", "\none\n", "bad\xFF", "a\0b"s};
  auto got = run_with(x);
  REQUIRE(got.kind == run_outcome::completed);
  auto card = card_of(got);
  CHECK_EQ(card.tags,
           (std::vector<std::string>{"two words", "one", "bad\uFFFD",
                                     "a\uFFFD"
                                     "b"}));
  x.tags.clear();
  for (int i = 0; i < 50; ++i)
    x.tags.push_back("tag " + std::to_string(i / 2));
  got = run_with(x);
  REQUIRE(got.kind == run_outcome::completed);
  card = card_of(got);
  CHECK_EQ(card.tags.size(), 20u);
  CHECK_EQ(card.tags.back(), "tag 19");
  x.tags.clear();
  CHECK(run_with(x).kind == run_outcome::completed);
  x.tags = {std::string(101, 'x')};
  refuses(x, "The analysis has a tag of more than 100 characters");
}

CAF_TEST(a summary must have something to read and an end) {
  auto x = good();
  for (auto blank : {""s, "  \n\t "s, "\0\0"s, "\u200b\u2060"s, "\xFF"s}) {
    x.summary = blank;
    refuses(x, "The analysis has an empty summary");
  }
  x.summary.clear();
  for (int i = 0; i < 10'000; ++i)
    x.summary += "\ud55c";
  CHECK(run_with(x).kind == run_outcome::completed);
  x.summary += "\ud55c";
  refuses(x, "The analysis has a summary of more than 10000 characters");
  x.summary = "\n Two\nlines with a \0 in them. "s;
  auto got = run_with(x);
  REQUIRE(got.kind == run_outcome::completed);
  auto card = card_of(got);
  CHECK_EQ(card.summary, "Two\nlines with a \uFFFD in them.");
}

CAF_TEST(an embedding must be a point in space) {
  auto x = good();
  x.embedding.clear();
  refuses(x, "The analysis has an embedding of 0 numbers instead of 1 to 4096");
  x.embedding.assign(4'097, 0.5f);
  refuses(x,
          "The analysis has an embedding of 4097 numbers instead of 1 to "
          "4096");
  x.embedding.assign(4'096, 0.5f);
  CHECK(run_with(x).kind == run_outcome::completed);
  for (auto bad : {std::numeric_limits<float>::infinity(),
                   -std::numeric_limits<float>::infinity(),
                   std::numeric_limits<float>::quiet_NaN()}) {
    x.embedding.back() = bad;
    refuses(x,
            "The analysis has an embedding with a number that is not "
            "finite");
  }
}

CAF_TEST(a card says which model made it) {
  auto x = good();
  x.model = " ";
  refuses(x, "The analysis does not say which model made it");
  x.model = std::string(201, 'm');
  refuses(x, "The analysis has a model's name of more than 200 characters");
  x.model = "two\nlines";
  CHECK_EQ(card_with(x).model, "two lines");
}

CAF_TEST(the local model makes acceptable cards) {
  card_analysis local{std::make_shared<local_analysis>()};
  auto got = context.run(local);
  REQUIRE(got.kind == run_outcome::completed);
  CHECK_EQ(card_of(got).summary, "A text.");
  context.steps.clear();
  context.scraps["scrap-1"].content = " \n ";
  CHECK(context.run(local).kind == run_outcome::failed_permanently);
}

CAF_TEST(a node that dies after the analysis does not pay for it again) {
  context.run_and_die_after(uut, 1);
  says(provider_failure{run_outcome::failed, "no", {}, {}});
  auto card = card_of(context.run(uut));
  CHECK_EQ(card.summary, "A summary.");
  CHECK_EQ(card.tags, (std::vector<std::string>{"one", "two"}));
  CHECK_EQ(card.embedding, (std::vector<float>{0.6f, 0.8f}));
  CHECK_EQ(card.model, "model-1");
  CHECK_EQ(model->calls, 1);
  REQUIRE_EQ(context.steps.size(), 1u);
  CHECK_EQ(context.steps.front().step.name, "analysis");
  CHECK_EQ(context.steps.front().step.provider, "analysis-server");
  CHECK_EQ(context.steps.front().step.used.input_tokens, 12u);
  CHECK_EQ(context.steps.front().step.run, 1);
}

CAF_TEST(the numbers of an embedding survive being kept) {
  auto x = good();
  x.embedding = {1.0f / 3, std::numeric_limits<float>::min(),
                 std::numeric_limits<float>::max(), -0.0f};
  says(x);
  context.run_and_die_after(uut, 1);
  context.steps.front().step.result =
    nlohmann::json::parse(context.steps.front().step.result.dump());
  CHECK_EQ(card_of(context.run(uut)).embedding, x.embedding);
  CHECK_EQ(model->calls, 1);
}

CAF_TEST(an analysis of no use is kept nowhere) {
  auto x = good();
  x.summary.clear();
  refuses(x, "The analysis has an empty summary");
  CHECK_EQ(context.step_names(), std::vector<std::string>{"analysis (failed)"});
  // The lane hears of its cost all the same.
  REQUIRE_EQ(context.calls.size(), 1u);
  CHECK_EQ(context.calls.front().used.input_tokens, 12u);
  CHECK_EQ(context.open_permits, 0);
}

CAF_TEST(the lane is the models) {
  CHECK_EQ(uut.lanes(), std::vector<std::string>{"analysis-server/default"});
  context.run(uut);
  REQUIRE_EQ(context.acquired.size(), 1u);
  CHECK_EQ(context.acquired.front().first, "analysis-server/default");
  model->key = {"local", "x"};
  CHECK(uut.lanes().empty());
}

CAF_TEST(there is no card analysis without a model) {
  CHECK_THROWS_AS(card_analysis{nullptr}, std::invalid_argument);
}

CAF_TEST_FIXTURE_SCOPE_END()
