// tests/unit/actors/query_actor.test.cpp -- reads, and a connection that dies.
#define CAF_SUITE actors.query_actor

#include "actors/query_actor.hpp"

#include "support/actor_fixture.hpp"
#include "support/fake_store.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

struct fixture : test::actor_fixture {
  test::fake_database_ptr db = std::make_shared<test::fake_database>();
  reeve::query_actor uut;

  fixture() {
    for (auto seq : {1, 2, 3})
      db->jobs.emplace(seq, test::make_job(seq));
    uut = adopt(sys.spawn<query_actor_impl>(
      [db = db] { return std::make_unique<test::fake_store>(db); }));
    // Connects.
    ask<job>(uut, find_atom_v, std::string{"job-1"});
    settle();
    db->reads = 0;
  }

  auto find(std::string id) {
    auto answer = ask<job>(uut, find_atom_v, std::move(id));
    settle();
    return answer;
  }

  std::string state() {
    return status_of(uut).state;
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("the first read connects, and nothing is missing before") {
  size_t connects = 0;
  uut = adopt(sys.spawn<query_actor_impl>([&connects, db = db] {
    ++connects;
    return std::make_unique<test::fake_store>(db);
  }));
  settle();
  CHECK_EQ(state(), "idle");
  CHECK_EQ(connects, 0u);
  CHECK(find("job-1")->value.has_value());
  CHECK(find("job-2")->value.has_value());
  CHECK_EQ(connects, 1u);
}

SCENARIO("reads come from the store") {
  db->scraps["scrap-1"] = test::make_scrap("scrap-1");
  db->cards["card-1"] = test::make_card("card-1");
  job_filter filter;
  filter.limit = 2;
  auto one = find("job-2");
  auto page = ask<job_list>(uut, find_atom_v, filter);
  auto text = ask<scrap>(uut, scrap_atom_v, std::string{"scrap-1"});
  auto card = ask<knowledge_card>(uut, card_atom_v, std::string{"card-1"});
  auto cards = ask<card_list>(uut, cards_atom_v, std::string{"scrap-1"});
  auto counts = ask<store_stats>(uut, stats_atom_v);
  auto ready = ask<caf::unit_t>(uut, ready_atom_v);
  settle();
  CHECK_EQ(one->value->target_id, "target-2");
  REQUIRE_EQ(page->value->size(), 2u);
  CHECK_EQ(page->value->front().id, "job-3");
  CHECK_EQ(text->value->content, "text");
  CHECK_EQ(card->value->scrap_id, "scrap-1");
  CHECK_EQ(cards->value->size(), 1u);
  CHECK_EQ(counts->value->counts.size(), 1u);
  CHECK(ready->value.has_value());
}

SCENARIO("what is missing is not found") {
  std::string id = "no such thing";
  auto no_job = find(id);
  auto no_attempts = ask<attempt_list>(uut, attempts_atom_v, id);
  auto no_scrap = ask<scrap>(uut, scrap_atom_v, id);
  auto no_card = ask<knowledge_card>(uut, card_atom_v, id);
  auto no_key = ask<api_key>(uut, key_atom_v, id);
  auto no_cards = ask<card_list>(uut, cards_atom_v, id);
  auto attempts = ask<attempt_list>(uut, attempts_atom_v, std::string{"job-1"});
  settle();
  CHECK_EQ(no_job->err, ec::not_found);
  CHECK_EQ(no_attempts->err, ec::not_found);
  CHECK_EQ(no_scrap->err, ec::not_found);
  CHECK_EQ(no_card->err, ec::not_found);
  CHECK_EQ(no_key->err, ec::not_found);
  THEN("an empty list is no error") {
    REQUIRE(no_cards->value.has_value());
    CHECK(no_cards->value->empty());
    REQUIRE(attempts->value.has_value());
    CHECK(attempts->value->empty());
  }
}

SCENARIO("steps, summaries and books are found or missing") {
  job_step step;
  step.name = "text";
  db->steps[1].push_back(step);
  daily_summary day;
  day.id = "summary-1";
  day.date = "2026-03-01";
  db->summaries.emplace(day.id, day);
  auto steps = ask<step_list>(uut, steps_query{"job-1"});
  auto no_steps = ask<step_list>(uut, steps_query{"job-2"});
  auto no_job = ask<step_list>(uut, steps_query{"gone"});
  auto by_id = ask<summary_view>(uut, summary_query{"summary-1", {}});
  auto by_date = ask<summary_view>(uut, summary_query{"2026-03-01", {}});
  auto other_user = ask<summary_view>(uut, summary_query{"2026-03-01", "bob"});
  auto no_book = ask<content>(uut, content_query{"gone"});
  auto books = ask<content_list>(uut, list_contents_query{{}, 10});
  auto cards = ask<card_list>(uut, list_cards_query{{}, 10});
  auto no_image = ask<page_image>(uut, image_query{"gone", 1});
  auto facts = ask<queue_facts>(uut, facts_query{"job-2"});
  auto no_facts = ask<queue_facts>(uut, facts_query{"gone"});
  auto account = ask<reeve::account>(uut, account_query{"ann"});
  settle();
  CHECK_EQ(steps->value->size(), 1u);
  REQUIRE(no_steps->value.has_value());
  CHECK(no_steps->value->empty());
  CHECK_EQ(no_job->err, ec::not_found);
  CHECK_EQ(by_id->value->what.id, "summary-1");
  CHECK_EQ(by_date->value->what.id, "summary-1");
  CHECK_EQ(other_user->err, ec::not_found);
  CHECK_EQ(no_book->err, ec::not_found);
  CHECK_EQ(no_image->err, ec::not_found);
  REQUIRE(books->value.has_value());
  CHECK(books->value->empty());
  REQUIRE(cards->value.has_value());
  CHECK(cards->value->empty());
  CHECK_EQ(facts->value->job.id, "job-2");
  CHECK_EQ(no_facts->err, ec::not_found);
  CHECK_EQ(account->value->balance, 0);
}

SCENARIO("a connection that died while idle costs one reconnect, no error") {
  db->read_faults = 1;
  CHECK(find("job-1")->value.has_value());
  CHECK_EQ(db->reconnects, 1u);
  CHECK_EQ(db->reads, 2u);
  CHECK_EQ(state(), "idle");
}

SCENARIO("a database that is away at the start is found by a later read") {
  bool away = true;
  auto late = adopt(sys.spawn<query_actor_impl>([&away, db = db] {
    if (away)
      throw store_unavailable("no route");
    return std::make_unique<test::fake_store>(db);
  }));
  settle();
  auto ask_late = [&] {
    auto answer = ask<job>(late, find_atom_v, std::string{"job-1"});
    settle();
    return answer;
  };
  CHECK_EQ(ask_late()->err, ec::store_unavailable);
  away = false;
  AND("it is not asked more often than a dead server may be") {
    CHECK_EQ(ask_late()->err, ec::store_unavailable);
    sched.advance_time(250ms);
    CHECK(ask_late()->value.has_value());
    CHECK_EQ(db->reconnects, 0u);
  }
}

SCENARIO("a read is tried twice, not for ever") {
  db->read_faults = 3;
  CHECK_EQ(find("job-1")->err, ec::store_unavailable);
  CHECK_EQ(db->reads, 2u);
  CHECK_EQ(db->reconnects, 1u);
}

SCENARIO("while the database is away reads fail without asking it") {
  db->down = true;
  auto first = find("job-1");
  CHECK_EQ(first->err, ec::store_unavailable);
  CHECK(to_string(first->err).find("connection refused") != std::string::npos);
  CHECK_EQ(state(), "away");
  CHECK_EQ(db->reconnects, 1u);
  for (auto i = 0; i < 20; ++i)
    CHECK_EQ(find("job-1")->err, ec::store_unavailable);
  auto ready = ask<caf::unit_t>(uut, ready_atom_v);
  settle();
  CHECK_EQ(ready->err, ec::store_unavailable);
  CHECK_EQ(db->reconnects, 1u);
  WHEN("a quarter of a second has passed") {
    pass(250ms);
    find("job-1");
    find("job-1");
    THEN("the database is asked once more") {
      CHECK_EQ(db->reconnects, 2u);
    }
  }
  WHEN("it is back") {
    db->down = false;
    CHECK_EQ(find("job-1")->err, ec::store_unavailable);
    pass(250ms);
    THEN("reads work without anyone's help") {
      CHECK(find("job-1")->value.has_value());
      CHECK_EQ(state(), "idle");
    }
  }
}

END_FIXTURE_SCOPE()
