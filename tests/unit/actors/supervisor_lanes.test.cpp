// tests/unit/actors/supervisor_lanes.test.cpp -- what a node claims while types
// are at their limit or their providers take no calls.
#define CAF_SUITE actors.supervisor_lanes

#include "supervisor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

using types_t = std::vector<claimable_type>;

struct fixture : test::supervisor_fixture {
  fixture() {
    options.workers = 3;
    options.types = {{"BOOK", {"text/m", "image/m"}}, {"CARD", {""}}};
    gates = {"text/m", "image/m"};
  }

  types_t last_claim() const {
    CAF_REQUIRE(!node->claims.empty());
    return node->claims.back().first.types;
  }

  // What a look for work claims now; empty when it claims nothing.
  types_t look() {
    auto before = node->claims.size();
    caf::anon_send(uut, wake_atom_v);
    settle();
    return node->claims.size() > before ? last_claim() : types_t{};
  }

  void run(int64_t seq, std::string type) {
    auto what = test::make_claimed(seq);
    what.type = std::move(type);
    node->queue.push_back(what);
    caf::anon_send(uut, wake_atom_v);
    settle();
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

// -- claims -------------------------------------------------------------------

SCENARIO("a node claims the types it knows, as many as fit") {
  boot();
  CHECK(last_claim() == (types_t{{"BOOK", 3}, {"CARD", 3}}));
  CHECK_EQ(node->claims.back().first.limit, 3u);
}

SCENARIO("a node that knows no type claims nothing") {
  options.types.clear();
  boot();
  CHECK(node->claims.empty());
}

SCENARIO("concurrency bounds a type, and counts what runs of it") {
  options.type = [](const std::string& type) {
    type_options result;
    result.concurrency = type == "BOOK" ? 2 : 0;
    return result;
  };
  boot();
  CHECK(last_claim() == (types_t{{"BOOK", 2, 2}, {"CARD", 3}}));
  run(1, "BOOK");
  CHECK(look() == (types_t{{"BOOK", 1, 2}, {"CARD", 2}}));
  run(2, "BOOK");
  CHECK(look() == (types_t{{"CARD", 1}}));
  report(1, outcome::completed({}));
  CHECK(last_claim() == (types_t{{"BOOK", 1, 2}, {"CARD", 2}}));
}

SCENARIO("types whose lane is closed stay in the queue") {
  boot();
  for (auto state :
       {lane_state::parked, lane_state::broken, lane_state::paused}) {
    tell_lane("image/m", state);
    CHECK(look() == (types_t{{"CARD", 3}}));
  }
  auto before = node->claims.size();
  tell_lane("image/m", lane_state::open);
  CHECK_EQ(node->claims.size(), before + 1);
  CHECK(last_claim() == (types_t{{"BOOK", 3}, {"CARD", 3}}));
  AND("one closed lane of several is enough") {
    tell_lane("text/m", lane_state::paused);
    CHECK(look() == (types_t{{"CARD", 3}}));
    tell_lane("image/m", lane_state::open);
    CHECK(look() == (types_t{{"CARD", 3}}));
  }
}

SCENARIO("a node with nothing but closed lanes asks the database nothing") {
  options.types = {{"BOOK", {"text/m"}}};
  boot();
  tell_lane("text/m", lane_state::broken);
  CHECK(look().empty());
}

SCENARIO("one run finds out whether a provider is back") {
  boot();
  run(1, "BOOK");
  tell_lane("text/m", lane_state::broken);
  pass(5s);
  tell_lane("text/m", lane_state::probing);
  CHECK(last_claim() == (types_t{{"BOOK", 1}, {"CARD", 2}}));
  pass(1s);
  run(2, "BOOK");
  CHECK(look() == (types_t{{"CARD", 1}}));
  // It ended before it asked: another one may find out.
  report(2, outcome::failed("no such target"));
  CHECK(last_claim() == (types_t{{"BOOK", 1}, {"CARD", 2}}));
  tell_lane("text/m", lane_state::open);
  CHECK(last_claim() == (types_t{{"BOOK", 2}, {"CARD", 2}}));
}

SCENARIO("a run that calls nobody does not probe for ever") {
  options.types = {{"BOOK", {"text/m", "image/m"}}, {"TIL", {"text/m"}}};
  boot();
  tell_lane("text/m", lane_state::broken);
  tell_lane("text/m", lane_state::probing);
  // Its text is done: from now on it only paints.
  run(1, "BOOK");
  CHECK(look().empty());
  auto before = node->claims.size();
  pass(14900ms);
  CHECK(look().empty());
  CHECK_EQ(node->claims.size(), before);
  // Nothing announces it but the clock.
  pass(100ms);
  REQUIRE_EQ(node->claims.size(), before + 1);
  CHECK(last_claim() == (types_t{{"BOOK", 1}, {"TIL", 1}}));
  AND("the next one has as long") {
    run(2, "TIL");
    CHECK(look().empty());
    pass(15s);
    CHECK(!look().empty());
  }
}

SCENARIO("an answer that promises more but brings nothing is not asked again") {
  boot();
  node->hold_claims = true;
  look();
  auto before = node->claims.size();
  claimed nothing;
  nothing.more = true;
  answer_claim(nothing);
  CHECK_EQ(node->claims.size(), before);
}

SCENARIO("a gate that is restarted starts open, and the lane with it") {
  boot();
  tell_lane("text/m", lane_state::broken);
  CHECK(look() == (types_t{{"CARD", 3}}));
  kill_child("gate:text/m");
  pass(100ms);
  CHECK(look() == (types_t{{"BOOK", 3}, {"CARD", 3}}));
  CHECK_EQ(shown("gate:text/m").restarts, 1u);
}

SCENARIO("a type's own backoff takes the place of the general one") {
  options.type = [](const std::string& type) {
    type_options result;
    result.backoff = type == "BOOK" ? caf::timespan{2min} : caf::timespan{0};
    return result;
  };
  boot();
  run(1, "BOOK");
  report(1, outcome::failed("no luck"));
  CHECK(only_settle().delay == 2min);
  node->settles.clear();
  run(2, "CARD");
  report(2, outcome::failed("no luck"));
  CHECK(only_settle().delay == 10s);
}

// -- permits ------------------------------------------------------------------

SCENARIO("permits come from the lane's gate and go back to it") {
  boot();
  auto yes = ask<permit_answer>(uut, permit_request{"text/m", 7});
  auto none = ask<permit_answer>(uut, permit_request{"no/lane", 7});
  settle();
  CHECK_EQ(yes->value->permit, 7u);
  CHECK_EQ(none->err, ec::not_found);
  caf::anon_send(uut, permit_return{"text/m", 7, call_report{}});
  caf::anon_send(uut, permit_return{"no/lane", 8, call_report{}});
  settle();
  CHECK(node->returned == std::vector<uint64_t>{7});
  WHEN("the gate is away") {
    kill_child("gate:text/m");
    auto refused = ask<permit_answer>(uut, permit_request{"text/m", 7});
    caf::anon_send(uut, permit_return{"text/m", 7, call_report{}});
    settle();
    THEN("the caller may ask again") {
      CHECK_EQ(refused->err, ec::store_unavailable);
    }
  }
}

SCENARIO("lanes are shown by their gates, silent ones as they were") {
  boot();
  tell_lane("text/m", lane_state::parked);
  node->lanes["text/m"].waiting = 5;
  kill_child("gate:image/m");
  auto shown_lanes = ask<lane_reports>(uut, lanes_query{});
  settle();
  REQUIRE(shown_lanes->value.has_value());
  REQUIRE_EQ(shown_lanes->value->size(), 2u);
  CHECK_EQ(shown_lanes->value->front().waiting, 5u);
  CHECK_EQ(shown_lanes->value->back().name, "image/m");
}

SCENARIO("a lane is resumed by its name") {
  boot();
  auto resumed = ask<done>(uut, resume_lane{"text/m"});
  auto unknown = ask<done>(uut, resume_lane{"no/lane"});
  settle();
  CHECK(resumed->value.has_value());
  CHECK_EQ(unknown->err, ec::not_found);
  CHECK(node->resumed == std::vector<std::string>{"text/m"});
}

// -- types --------------------------------------------------------------------

SCENARIO("types show their pause, runs and lanes") {
  node->reads->pauses = [] {
    return type_states{{"BOOK", true, "the artist is ill", timestamp{1h}},
                       {"CARD", false, "", timestamp{1h}},
                       {"ELSEWHERE", true, "not ours", timestamp{1h}}};
  };
  boot();
  run(1, "CARD");
  tell_lane("image/m", lane_state::broken);
  auto shown_types = ask<type_reports>(uut, types_query{});
  settle();
  REQUIRE(shown_types->value.has_value());
  REQUIRE_EQ(shown_types->value->size(), 2u);
  const auto& book = shown_types->value->front();
  CHECK_EQ(book.type, "BOOK");
  CHECK(book.paused);
  CHECK_EQ(book.reason, "the artist is ill");
  CHECK(book.paused_since == timestamp{1h});
  CHECK(book.timeout == 90s);
  REQUIRE_EQ(book.lanes.size(), 2u);
  const auto& card = shown_types->value->back();
  CHECK(!card.paused);
  CHECK_EQ(card.running, 1u);
  CHECK(card.lanes.empty());
}

SCENARIO("resuming a type wakes the node; pausing it does not") {
  boot();
  auto before = node->claims.size();
  auto paused = ask<done>(uut, pause_write{"BOOK", true, "why not"});
  settle();
  CHECK(paused->value.has_value());
  CHECK_EQ(node->claims.size(), before);
  auto resumed = ask<done>(uut, pause_write{"BOOK", false, ""});
  settle();
  CHECK(resumed->value.has_value());
  CHECK_EQ(node->claims.size(), before + 1);
  CHECK_EQ(node->pauses.size(), 2u);
  WHEN("the database is away") {
    node->pause_errors = {ec::store_unavailable};
    auto failed = ask<done>(uut, pause_write{"BOOK", false, ""});
    settle();
    THEN("the caller learns it") {
      CHECK_EQ(failed->err, ec::store_unavailable);
    }
  }
}

SCENARIO("jobs of a paused type are no reason to ask the database") {
  auto waiting = [](const std::string& type) {
    auto result = test::make_claimed(1);
    result.type = type;
    result.status = job_status::pending;
    result.run_at = result.updated_at;
    return result;
  };
  auto add = [&](const std::string& type) {
    enqueue_write what;
    what.type = type;
    auto added = ask<enqueued>(uut, std::move(what));
    settle();
    CHECK(added->value.has_value());
    commit({waiting(type)}, true);
  };
  boot();
  node->paused = {"CARD"};
  look();
  auto before = node->claims.size();
  add("CARD");
  enqueue_batch_write both;
  both.jobs.resize(2);
  both.jobs[0].type = both.jobs[1].type = "CARD";
  ask<enqueued_batch>(uut, std::move(both));
  settle();
  CHECK_EQ(node->claims.size(), before);
  CHECK_EQ(node->joined, 0u);
  WHEN("others come in") {
    add("BOOK");
    commit({waiting("BOOK"), waiting("CARD")}, true);
    THEN("they are looked for") {
      CHECK_EQ(node->joined, 1u);
      CHECK_EQ(node->claims.size(), before + 3);
    }
  }
  AND("a claim finds it resumed, on whatever node") {
    node->paused.clear();
    look();
    add("CARD");
    CHECK_EQ(node->joined, 2u);
  }
  AND("it is asked again when nothing was heard for a while") {
    node->paused = {"CARD"};
    look();
    pass(999ms);
    add("CARD");
    CHECK_EQ(node->joined, 2u);
    pass(1ms);
    add("CARD");
    CHECK_EQ(node->joined, 3u);
  }
}

// -- explanations, searches, steps --------------------------------------------

SCENARIO("an explanation joins what database and node know") {
  node->reads->facts = [](const facts_query& x) -> caf::result<queue_facts> {
    if (x.job_id == "gone")
      return caf::make_error(ec::not_found);
    queue_facts result;
    result.job = test::make_job(9);
    result.job.type = "BOOK";
    return result;
  };
  boot();
  tell_lane("image/m", lane_state::paused);
  auto why = ask<explanation>(uut, explain_query{"job-9"});
  auto gone = ask<explanation>(uut, explain_query{"gone"});
  settle();
  REQUIRE(why->value.has_value());
  CHECK_EQ(why->value->code, "lane_closed");
  CHECK_EQ(why->value->job.id, "job-9");
  CHECK_EQ(gone->err, ec::not_found);
  tell_lane("image/m", lane_state::open);
  for (auto seq : {1, 2, 3})
    run(seq, "CARD");
  auto busy = ask<explanation>(uut, explain_query{"job-9"});
  settle();
  CHECK_EQ(busy->value->code, "node_busy");
  CHECK(busy->value->blocking_job == "job-1");
}

SCENARIO("searches and steps reach whoever serves them") {
  with_recall = true;
  boot();
  auto recalled = ask<card_hits>(uut, recall_query{"text", {}, 3});
  auto found = ask<card_hits>(uut, card_search{});
  step_write step;
  step.seq = 1;
  auto stored = ask<changed>(uut, step, true);
  auto retried = ask<bulk_retried>(uut, bulk_retry_write{});
  auto made = ask<stored_summary>(uut, summary_write{});
  settle();
  CHECK_EQ(recalled->value->front().card.summary, "text");
  CHECK_EQ(found->value->size(), 2u);
  CHECK(stored->value.has_value());
  CHECK_EQ(node->steps.size(), 1u);
  CHECK(retried->value.has_value());
  CHECK(made->value.has_value());
  WHEN("the search is being restarted") {
    kill_child("recall");
    auto failed = ask<card_hits>(uut, card_search{});
    settle();
    THEN("it fails at once") {
      CHECK_EQ(failed->err, ec::store_unavailable);
    }
  }
  WHEN("the embedder is being restarted") {
    kill_child("embedder");
    auto failed = ask<card_hits>(uut, recall_query{"text", {}, 3});
    settle();
    THEN("that is not the database's fault") {
      CHECK_EQ(failed->err, ec::provider_unavailable);
    }
    pass(100ms);
    CHECK_EQ(shown("embedder").restarts, 1u);
  }
}

END_FIXTURE_SCOPE()
