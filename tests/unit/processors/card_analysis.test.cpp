// tests/unit/processors/card_analysis.test.cpp -- from a scrap to a card, and
// what may come between.
#define CAF_SUITE processors.card_analysis

#include "processors/card_analysis.hpp"

#include "persistence/uuid.hpp"
#include "processors/ai/analysis_check.hpp"
#include "processors/ai/local_analysis.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <functional>
#include <limits>
#include <stdexcept>

using namespace reeve;
using namespace std::literals;

namespace {

using answer = std::variant<analysis, provider_failure>;

class fake_context final : public job_context {
public:
  fake_context() {
    job_.id = "0190a0b0-0000-7000-8000-000000000001";
    job_.type = "CARD_ANALYSIS";
    job_.target_id = "scrap-1";
    job_.user_id = "user-1";
    scrap_ = scrap{"scrap-1", "A text.", "A title", {}, "user-1", {}};
  }

  const job& current() const override {
    return job_;
  }

  void progress(int percent, std::string_view message) override {
    reports.emplace_back(percent, message);
  }

  std::stop_token stop() const override {
    return source.get_token();
  }

  std::optional<scrap> find_scrap(const std::string& id) override {
    asked_for.push_back(id);
    if (stops_while_looking)
      throw run_stopped{};
    return scrap_;
  }

  std::vector<std::pair<int, std::string>> reports;
  std::vector<std::string> asked_for;
  std::stop_source source;
  bool stops_while_looking = false;
  job job_;
  std::optional<scrap> scrap_;
};

class fake_model final : public analysis_model {
public:
  answer analyze(const scrap& text, std::stop_token stop) override {
    ++calls;
    return says(text, stop);
  }

  std::function<answer(const scrap&, std::stop_token)> says;
  int calls = 0;
};

analysis good() {
  return {"A summary.", {"one", "two"}, {0.6f, 0.8f}, "model-1"};
}

struct fixture {
  fixture() : model(std::make_shared<fake_model>()), uut(model) {
    says(good());
  }

  void says(answer x) {
    model->says = [x](const scrap&, std::stop_token) { return x; };
  }

  outcome run_with(answer x) {
    says(std::move(x));
    return uut.run(context);
  }

  void refuses(analysis x, const std::string& message) {
    auto got = run_with(std::move(x));
    CHECK(got.kind == run_outcome::failed);
    CHECK_EQ(got.message, message);
    CHECK(!got.card);
  }

  fake_context context;
  std::shared_ptr<fake_model> model;
  card_analysis uut;
};

} // namespace

CAF_TEST_FIXTURE_SCOPE(card_analysis_tests, fixture)

CAF_TEST(a vanished target fails for good with the agreed text) {
  context.scrap_.reset();
  auto got = uut.run(context);
  CHECK(got.kind == run_outcome::failed_permanently);
  CHECK_EQ(got.message, "Target data not found (Already deleted)");
  CHECK(!got.card);
  CHECK_EQ(model->calls, 0);
  CHECK_EQ(context.asked_for, std::vector<std::string>{"scrap-1"});
}

CAF_TEST(a stop while the scrap is looked up passes through) {
  context.stops_while_looking = true;
  CHECK_THROWS_AS(uut.run(context), run_stopped);
  CHECK_EQ(model->calls, 0);
}

CAF_TEST(a stopped run asks no model) {
  context.source.request_stop();
  CHECK(uut.run(context).kind == run_outcome::cancelled);
  CHECK_EQ(model->calls, 0);
}

CAF_TEST(the model gets the scrap and the stop token of the run) {
  scrap seen;
  model->says = [&](const scrap& text, std::stop_token stop) -> answer {
    seen = text;
    context.source.request_stop();
    if (stop.stop_requested())
      return provider_failure{run_outcome::cancelled, "stopped", {}};
    return good();
  };
  CHECK(uut.run(context).kind == run_outcome::cancelled);
  CHECK_EQ(seen.content, "A text.");
  CHECK_EQ(seen.title.value_or(""), "A title");
}

CAF_TEST(a provider failure keeps its kind and message and delay) {
  for (auto kind : {run_outcome::failed, run_outcome::failed_permanently,
                    run_outcome::throttled, run_outcome::provider_down}) {
    MESSAGE("kind: " << std::string{to_string(kind)});
    auto got = run_with(provider_failure{kind, "the reason", 7s});
    CHECK(got.kind == kind);
    CHECK_EQ(got.message, "the reason");
    CHECK(!got.card);
    auto delays =
      kind == run_outcome::throttled || kind == run_outcome::provider_down;
    CHECK_EQ(got.delay.has_value(), delays);
    if (delays)
      CHECK(got.delay == 7s);
  }
  auto got = run_with(provider_failure{run_outcome::cancelled, "x", {}});
  CHECK(got.kind == run_outcome::cancelled);
}

CAF_TEST(a provider cannot complete or lose a run by its failure) {
  for (auto kind :
       {run_outcome::completed, run_outcome::lost, run_outcome::snoozed,
        run_outcome::interrupted, run_outcome::timed_out})
    CHECK(run_with(provider_failure{kind, "x", {}}).kind
          == run_outcome::failed);
}

CAF_TEST(a good analysis becomes result and card) {
  auto got = uut.run(context);
  REQUIRE(got.kind == run_outcome::completed);
  REQUIRE(got.card.has_value());
  CHECK(is_uuid(got.card->id));
  CHECK_EQ(got.card->scrap_id, "scrap-1");
  CHECK_EQ(got.card->job_id, context.job_.id);
  CHECK_EQ(got.card->user_id.value_or(""), "user-1");
  CHECK_EQ(got.card->summary, "A summary.");
  CHECK_EQ(got.card->tags, (std::vector<std::string>{"one", "two"}));
  CHECK_EQ(got.card->embedding, (std::vector<float>{0.6f, 0.8f}));
  CHECK_EQ(got.card->model, "model-1");
  CHECK(got.result
        == nlohmann::json({{"card_id", got.card->id},
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
  CHECK_NE(uut.run(context).card->id, uut.run(context).card->id);
}

CAF_TEST(tags are cleaned) {
  auto x = good();
  x.tags = {"  two  words ", "", " \t", "one", "\none\n", "bad\xFF", "a\0b"s};
  auto got = run_with(x);
  REQUIRE(got.card.has_value());
  CHECK_EQ(got.card->tags,
           (std::vector<std::string>{"two words", "one", "bad\uFFFD",
                                     "a\uFFFD"
                                     "b"}));
  x.tags.clear();
  for (int i = 0; i < 50; ++i)
    x.tags.push_back("tag " + std::to_string(i / 2));
  got = run_with(x);
  REQUIRE(got.card.has_value());
  CHECK_EQ(got.card->tags.size(), 20u);
  CHECK_EQ(got.card->tags.back(), "tag 19");
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
  REQUIRE(got.card.has_value());
  CHECK_EQ(got.card->summary, "Two\nlines with a \uFFFD in them.");
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
  CHECK_EQ(run_with(x).card->model, "two lines");
}

CAF_TEST(the local model makes acceptable cards) {
  card_analysis local{std::make_shared<local_analysis>()};
  auto got = local.run(context);
  REQUIRE(got.kind == run_outcome::completed);
  CHECK_EQ(got.card->summary, "A text.");
  context.scrap_->content = " \n ";
  CHECK(local.run(context).kind == run_outcome::failed_permanently);
}

CAF_TEST(there is no card analysis without a model) {
  CHECK_THROWS_AS(card_analysis{nullptr}, std::invalid_argument);
}

CAF_TEST_FIXTURE_SCOPE_END()
