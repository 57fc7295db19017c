// tests/unit/actors/embedder.test.cpp -- questions in words, and a provider of
// embeddings that refuses, hangs or dies.
#define CAF_SUITE actors.embedder

#include "actors/embedder.hpp"

#include "actors/provider_gate.hpp"

#include "support/actor_fixture.hpp"
#include "support/mock_reader.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <deque>
#include <stdexcept>
#include <utility>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

constexpr const char* lane_name = "analysis-server/v1";

/// Calls that are under way until the test ends them.
using held_caller =
  embedding_caller_actor::extend<caf::result<void>(flush_atom)>;

struct calls_made {
  std::vector<embedding_request> all;
  std::deque<caf::typed_response_promise<embedding_answer>> open;
  embedding_answer next;
};

held_caller::behavior_type hold(held_caller::pointer self,
                                std::shared_ptr<calls_made> calls) {
  return {
    [=](const embedding_request& x) -> caf::result<embedding_answer> {
      calls->all.push_back(x);
      calls->open.push_back(self->make_response_promise<embedding_answer>());
      return calls->open.back();
    },
    [=](flush_atom) {
      calls->open.front().deliver(calls->next);
      calls->open.pop_front();
    },
  };
}

embedding_answer embedded(std::vector<float> at) {
  embedding_answer result;
  result.result = std::move(at);
  return result;
}

embedding_answer failed(lane_effect effect, std::string message,
                        std::optional<std::chrono::milliseconds> delay = {}) {
  provider_failure failure;
  failure.kind = run_outcome::provider_down;
  failure.lane = effect;
  failure.message = std::move(message);
  failure.delay = delay;
  embedding_answer result;
  result.result = std::move(failure);
  return result;
}

class throwing_model final : public analysis_model {
public:
  lane_key lane() const override {
    return {"analysis-server", "v1"};
  }

  provider_answer<analysis> analyze(const scrap&, call_scope) override {
    return {};
  }

  embedding_answer embed(const std::string& text, call_scope) override {
    throw std::runtime_error("no luck with " + text);
  }
};

struct fixture : test::actor_fixture {
  std::shared_ptr<calls_made> calls = std::make_shared<calls_made>();
  std::vector<card_search> searches;
  std::vector<permit_return> returned;
  size_t permit_requests = 0;
  /// What asking for a permit and searching fail with.
  caf::error gate_error;
  caf::error search_error;
  lane_key lane{"analysis-server", "v1"};
  held_caller caller;
  provider_gate_actor gate;
  run_services_actor services;
  embedder_actor uut;

  fixture() {
    caller = adopt(sys.spawn(hold, calls));
    lane_options options;
    options.name = lane_name;
    auto watcher = adopt(sys.spawn([]() -> lane_watcher_actor::behavior_type {
      return {[](const lane_report&) {}};
    }));
    gate = adopt(sys.spawn<provider_gate_impl>(options, watcher, uint64_t{42}));
    services = adopt(sys.spawn(
      [this](run_services_actor::pointer self) { return serve(self); }));
    start();
  }

  run_services_actor::behavior_type serve(run_services_actor::pointer self) {
    return test::reader_behavior<run_services_actor::behavior_type>(
      std::make_shared<test::mock_reads>(),
      [this](const card_search& x) -> caf::result<card_hits> {
        searches.push_back(x);
        if (search_error)
          return search_error;
        return card_hits(2);
      },
      [](const step_write&, bool) { return changed{}; },
      [=, this](permit_request& x) -> caf::result<permit_answer> {
        ++permit_requests;
        if (gate_error)
          return gate_error;
        return self->delegate(gate, std::move(x));
      },
      [=, this](permit_return& x) -> caf::result<void> {
        returned.push_back(x);
        return self->delegate(gate, std::move(x));
      });
  }

  void start() {
    uut = adopt(sys.spawn<embedder_impl>(
      services, lane, [this] { return embedding_caller_actor{caller}; },
      embedder_options{}));
    settle();
  }

  auto recall(std::string text) {
    auto answer = ask<card_hits>(uut, recall_query{std::move(text), "ann", 7});
    settle();
    return answer;
  }

  // Ends the oldest call under way.
  void answer(embedding_answer x) {
    CAF_REQUIRE(!calls->open.empty());
    calls->next = std::move(x);
    caf::anon_send(caller, flush_atom_v);
    settle();
  }

  lane_report shown_lane() {
    auto shown = ask<lane_report>(gate, lanes_query{});
    settle();
    CAF_REQUIRE(shown->value.has_value());
    return *shown->value;
  }

  // Takes the lane's only place until the result is sent back.
  permit_return take_lane() {
    auto held = std::make_shared<permit_answer>();
    auto holder = [=, this](caf::event_based_actor* self) -> caf::behavior {
      self->request(gate, caf::infinite, permit_request{lane_name, 0})
        .then([held](const permit_answer& x) { *held = x; });
      return {[](int) {}};
    };
    adopt(sys.spawn(holder));
    settle();
    CAF_REQUIRE_NOT_EQUAL(held->permit, 0u);
    return {lane_name, held->permit, std::nullopt};
  }

  // The text for the client.
  static std::string text_of(const test::reply_ptr<card_hits>& x) {
    CAF_REQUIRE_EQUAL(x->err, ec::provider_unavailable);
    return x->err.context().get_as<std::string>(0);
  }

  static std::optional<caf::timespan> delay_of(
    const test::reply_ptr<card_hits>& x) {
    if (!x->err.context().match_elements<std::string, caf::timespan>())
      return std::nullopt;
    return x->err.context().get_as<caf::timespan>(1);
  }

  static bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

// -- the way of a question ----------------------------------------------------

SCENARIO("a question becomes an embedding by a permit, and is searched for") {
  auto found = recall("bread");
  REQUIRE_EQ(calls->all.size(), 1u);
  CHECK_EQ(calls->all.front().text, "bread");
  CHECK_EQ(shown_lane().in_flight, 1u);
  CHECK(found->is_open());
  answer(embedded({0.5f, 1.0f}));
  REQUIRE(found->value.has_value());
  CHECK_EQ(found->value->size(), 2u);
  REQUIRE_EQ(searches.size(), 1u);
  CHECK(searches.front().embedding == (std::vector<float>{0.5f, 1.0f}));
  CHECK(searches.front().user_id == "ann");
  CHECK_EQ(searches.front().limit, 7u);
  CHECK_EQ(shown_lane().in_flight, 0u);
  REQUIRE_EQ(returned.size(), 1u);
  REQUIRE(returned.front().how.has_value());
  CHECK(returned.front().how->effect == lane_effect::none);
}

SCENARIO("a model that calls nobody needs no permit") {
  lane = {"local", "extractive"};
  start();
  auto found = recall("bread");
  answer(embedded({1}));
  CHECK(found->value.has_value());
  CHECK_EQ(permit_requests, 0u);
  CHECK(returned.empty());
}

SCENARIO("one call is made at a time, in the order of the questions") {
  auto first = recall("a");
  auto second = recall("b");
  CHECK_EQ(calls->all.size(), 1u);
  answer(failed(lane_effect::none, "HTTP 400"));
  CHECK(has(text_of(first), "HTTP 400"));
  REQUIRE_EQ(calls->all.size(), 2u);
  CHECK_EQ(calls->all.back().text, "b");
  answer(embedded({1}));
  CHECK(second->value.has_value());
}

SCENARIO("a search that fails is the database's fault, and said to be") {
  search_error = caf::make_error(ec::store_unavailable, "connection refused");
  auto found = recall("bread");
  answer(embedded({1}));
  CHECK_EQ(found->err, ec::store_unavailable);
}

// -- a lane that is closed ----------------------------------------------------

SCENARIO("a bad key is tried once, and pauses the lane") {
  auto first = recall("a");
  answer(failed(lane_effect::pause, "401: invalid key"));
  CHECK(has(text_of(first), "analysis-server"));
  CHECK(has(text_of(first), "401: invalid key"));
  CHECK(shown_lane().state == lane_state::paused);
  for (auto i = 0; i < 3; ++i) {
    auto next = recall("b");
    CHECK(has(text_of(next), "401: invalid key"));
    CHECK(!has(text_of(next), "database"));
    CHECK(!delay_of(next));
  }
  CHECK_EQ(calls->all.size(), 1u);
  WHEN("somebody resumes the lane") {
    caf::anon_send(gate, resume_lane{lane_name});
    auto found = recall("c");
    answer(embedded({1}));
    THEN("it is called again") {
      CHECK(found->value.has_value());
    }
  }
}

SCENARIO("an outage counts towards the breaker, which ends the calls") {
  for (auto i = 0; i < 3; ++i) {
    recall("a");
    answer(failed(lane_effect::outage, "connection refused"));
  }
  CHECK(shown_lane().state == lane_state::broken);
}

SCENARIO("a lane that is parked for long says for how long") {
  auto first = recall("a");
  answer(failed(lane_effect::throttle, "HTTP 429", 60s));
  CHECK(delay_of(first) == caf::timespan{60s});
  auto next = recall("b");
  CHECK(has(text_of(next), "HTTP 429"));
  REQUIRE(delay_of(next).has_value());
  CHECK(*delay_of(next) >= 60s);
  CHECK(*delay_of(next) <= 66s);
  CHECK_EQ(calls->all.size(), 1u);
}

SCENARIO("a gate that is being restarted is not the database") {
  gate_error = caf::make_error(ec::store_unavailable, "the gate is restarting");
  CHECK(has(text_of(recall("a")), "analysis-server"));
  gate_error = {};
  recall("b");
  CHECK_EQ(calls->all.size(), 1u);
}

// -- time and room ------------------------------------------------------------

SCENARIO("a call has eight seconds, and being broken off teaches nothing") {
  auto found = recall("a");
  pass(7900ms);
  CHECK(!calls->all.front().control.stop_requested());
  pass(100ms);
  CHECK(calls->all.front().control.stop_requested());
  answer(failed(lane_effect::none, "cancelled"));
  CHECK(has(text_of(found), "did not answer in time"));
  REQUIRE_EQ(returned.size(), 1u);
  CHECK(!returned.front().how);
  CHECK(shown_lane().state == lane_state::open);
  CHECK_EQ(shown_lane().in_flight, 0u);
}

SCENARIO("more than eight questions do not wait") {
  std::vector<test::reply_ptr<card_hits>> open;
  for (auto i = 0; i < 9; ++i)
    open.push_back(recall("a"));
  for (const auto& x : open)
    CHECK(x->is_open());
  auto refused = recall("b");
  CHECK(has(text_of(refused), "too many"));
  CHECK(delay_of(refused) == caf::timespan{1s});
  answer(embedded({1}));
  CHECK(recall("c")->is_open());
}

SCENARIO("nobody pays for answers to those who are gone") {
  auto first = recall("a");
  auto second = recall("b");
  pass(4s);
  auto third = recall("c");
  pass(4s);
  pass(1500ms);
  CHECK(has(text_of(second), "busy for too long"));
  CHECK(third->is_open());
  answer(failed(lane_effect::none, "cancelled"));
  REQUIRE_EQ(calls->all.size(), 2u);
  CHECK_EQ(calls->all.back().text, "c");
  // It arrived 5.5 s ago: its call may take the rest of its patience.
  pass(3900ms);
  CHECK(!calls->all.back().control.stop_requested());
  pass(100ms);
  CHECK(calls->all.back().control.stop_requested());
}

SCENARIO("a permit that comes when nobody waits goes back") {
  auto held = take_lane();
  auto late = recall("a");
  CHECK(calls->all.empty());
  pass(9500ms);
  CHECK(has(text_of(late), "busy for too long"));
  caf::anon_send(gate, held);
  settle();
  CHECK(calls->all.empty());
  CHECK_EQ(shown_lane().in_flight, 0u);
  AND("the next question gets its own") {
    recall("b");
    CHECK_EQ(calls->all.size(), 1u);
    CHECK_EQ(permit_requests, 2u);
  }
}

// -- ends ---------------------------------------------------------------------

SCENARIO("a model that ignores its stop costs the embedder its life") {
  auto first = recall("a");
  pass(8s);
  auto second = recall("b");
  CHECK(!is_dead(uut));
  pass(2s);
  CHECK(has(text_of(first), "did not answer in time"));
  CHECK_EQ(second->err, ec::provider_unavailable);
  CHECK(is_dead(uut));
  CHECK_EQ(shown_lane().in_flight, 0u);
}

SCENARIO("an embedder that ends breaks off its call, and leaves no thread") {
  auto first = recall("a");
  caf::anon_send_exit(uut, caf::exit_reason::user_shutdown);
  settle();
  CHECK(calls->all.front().control.stop_requested());
  CHECK(!first->is_open());
  CHECK(is_dead(caller));
  CHECK_EQ(shown_lane().in_flight, 0u);
}

SCENARIO("it shows what it does") {
  recall("a");
  recall("b");
  auto busy = ask<actor_report>(uut, status_atom_v);
  settle();
  CHECK_EQ(busy->value->state, "running");
  CHECK_EQ(busy->value->mailbox, 1u);
  answer(failed(lane_effect::none, "HTTP 400"));
  answer(embedded({1}));
  auto idle = ask<actor_report>(uut, status_atom_v);
  settle();
  CHECK_EQ(idle->value->state, "idle");
  REQUIRE_EQ(idle->value->counts.size(), 1u);
  CHECK_EQ(idle->value->counts[0].second, 2u);
  CHECK_EQ(idle->value->last_error, "HTTP 400");
}

SCENARIO("a model that throws is a model that failed") {
  auto real =
    adopt(sys.spawn<embedding_caller_impl>(std::make_shared<throwing_model>()));
  auto answer =
    ask<embedding_answer>(real, embedding_request{"bread", std::stop_source{}});
  settle();
  REQUIRE(answer->value.has_value());
  const auto* failure = std::get_if<provider_failure>(&answer->value->result);
  REQUIRE(failure != nullptr);
  CHECK_EQ(failure->message, "no luck with bread");
  CHECK(!is_dead(real));
}

END_FIXTURE_SCOPE()
