// tests/unit/actors/run_context.test.cpp -- what a processor may ask of the
// node. It blocks its thread until the node has answered, which the
// deterministic scheduler cannot do: these tests have real threads.
#define CAF_SUITE actors.run_context

#include "run_context_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace reeve::test;
using namespace std::chrono_literals;

BEGIN_FIXTURE_SCOPE(run_fixture)

// -- durable steps ------------------------------------------------------------

SCENARIO("a step is stored once, and nothing is read for a first run") {
  reads->steps = [this]() -> caf::result<step_list> {
    ++step_queries;
    return step_list{};
  };
  auto result = run(step_twice);
  CHECK(result.result == nlohmann::json({41, 41}));
  CHECK_EQ(step_queries, 0);
  REQUIRE_EQ(steps.size(), 1u);
  CHECK_EQ(steps[0].first.seq, 1);
  CHECK_EQ(steps[0].first.run, 1);
  CHECK_EQ(steps[0].first.step.name, "text");
  CHECK(!steps[0].second);
}

SCENARIO("a later run takes what an earlier one did, and reads it once") {
  run([](job_context& context) {
    return outcome::completed(
      context.step("text", 1, [] { return make_result(41); }));
  });
  auto stored = steps.front().first.step;
  steps.clear();
  what.run = 2;
  reads->steps = [this, stored]() -> caf::result<step_list> {
    ++step_queries;
    return step_list{stored};
  };
  auto result = run([](job_context& context) {
    auto same = context.step("text", 1, [] { return make_result(1); });
    auto other_input = context.step("text", 2, [] { return make_result(2); });
    auto other = context.step("image", 1, [] { return make_result(3); });
    return outcome::completed({same, other_input, other});
  });
  CHECK(result.result == nlohmann::json({41, 2, 3}));
  CHECK_EQ(step_queries, 1);
  CHECK_EQ(steps.size(), 2u);
}

SCENARIO("a step is repeated until it is known to be committed") {
  on_step =
    in_turn<changed>({away(), caf::make_error(ec::outcome_unknown), changed{}});
  auto result = run([](job_context& context) {
    return outcome::completed(
      context.step("text", 1, [] { return make_result(41); }));
  });
  CHECK(result.kind == run_outcome::completed);
  REQUIRE_EQ(steps.size(), 3u);
  CHECK(!steps[0].second);
  CHECK(steps[1].second);
  CHECK(steps[2].second);
}

SCENARIO("a step that is refused ends the run, each refusal in its way") {
  auto end_with = [this](ec code) {
    on_step = in_turn<changed>({caf::make_error(code, "U+0000 in a text")});
    return run(step_twice);
  };
  CHECK(end_with(ec::lease_lost).kind == run_outcome::cancelled);
  auto gone = end_with(ec::not_found);
  CHECK(gone.kind == run_outcome::failed_permanently);
  CHECK_EQ(gone.message, target_gone_message);
  auto bad = end_with(ec::invalid_argument);
  CHECK(bad.kind == run_outcome::failed_permanently);
  CHECK(bad.message.find("U+0000") != std::string::npos);
  CHECK_EQ(steps.size(), 3u);
}

SCENARIO("a step that was paid for is stored although the run is to stop") {
  auto result = run([this](job_context& context) {
    context.step("text", 1, [this] {
      control.request_stop();
      auto result = make_result(41);
      result.used.input_tokens = 7;
      return result;
    });
    return outcome::completed("went on");
  });
  CHECK(result.kind == run_outcome::cancelled);
  // Once: what it cost is not counted again as that of a failure.
  REQUIRE_EQ(steps.size(), 1u);
  CHECK_EQ(steps[0].first.step.name, "text");
  CHECK_EQ(steps[0].first.step.used.input_tokens, 7u);
}

SCENARIO("a step whose work throws is not stored") {
  auto result = run([](job_context& context) {
    context.step("text", 1, []() -> step_result {
      throw run_ended{outcome::provider_down("HTTP 529", 3s)};
    });
    return outcome::completed({});
  });
  CHECK(result.kind == run_outcome::provider_down);
  CHECK(result.delay == 3s);
  CHECK(steps.empty());
}

// -- data ---------------------------------------------------------------------

SCENARIO("reads return what there is, and nothing for what is gone") {
  reads->scrap_of = [](const std::string& id) { return test::make_scrap(id); };
  reads->content_of = [](const content_query&) -> caf::result<content> {
    return caf::make_error(ec::not_found);
  };
  reads->summary = [](const summary_query& x) -> caf::result<summary_view> {
    summary_view result;
    result.what.date = x.id_or_date;
    result.what.user_id = x.user_id;
    return result;
  };
  reads->cards = [](const cards_query& x) {
    return card_list(x.limit, test::make_card("card-1"));
  };
  reads->similar = [](const card_search& x) { return card_hits(x.limit); };
  auto result = run([](job_context& context) {
    auto text = context.find_scrap("scrap-1");
    auto book = context.find_content("content-1");
    auto day = context.find_summary("2026-03-01", "ann");
    auto cards = context.cards_between("ann", timestamp{}, timestamp{}, 3);
    card_search search;
    search.limit = 2;
    auto hits = context.similar_cards(search);
    return outcome::completed({text->id, book.has_value(), day->what.date,
                               *day->what.user_id, cards.size(), hits.size()});
  });
  CHECK(result.result
        == nlohmann::json({"scrap-1", false, "2026-03-01", "ann", 3, 2}));
}

SCENARIO("reads wait while the database is away") {
  auto answers = in_turn<scrap>({away(), away(), test::make_scrap("scrap-1")});
  reads->scrap_of = [answers](const std::string&) { return answers(); };
  auto hits = in_turn<card_hits>({away(), card_hits(1)});
  reads->similar = [hits](const card_search&) { return hits(); };
  auto result = run([](job_context& context) {
    auto found = context.find_scrap("scrap-1");
    return outcome::completed(found && context.similar_cards({}).size() == 1);
  });
  CHECK(result.result == true);
}

SCENARIO("a run that is told to stop waits for no database") {
  auto asked = std::make_shared<std::promise<void>>();
  auto once = std::make_shared<std::once_flag>();
  reads->scrap_of = [=](const std::string&) -> caf::result<scrap> {
    std::call_once(*once, [&] { asked->set_value(); });
    return away();
  };
  auto end = start([](job_context& context) {
    context.find_scrap("scrap-1");
    return outcome::completed({});
  });
  asked->get_future().wait();
  control.request_stop();
  CHECK(end_of(end, 1s).kind == run_outcome::cancelled);
}

END_FIXTURE_SCOPE()
