// tests/unit/actors/recall_actor.test.cpp -- similarity search, and a database
// that comes and goes.
#define CAF_SUITE actors.recall_actor

#include "actors/recall_actor.hpp"

#include "support/actor_fixture.hpp"
#include "support/fake_store.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

struct fixture : test::actor_fixture {
  test::fake_database_ptr db = std::make_shared<test::fake_database>();
  reeve::recall_actor uut;

  fixture() {
    add_card("near", {1, 0});
    add_card("far", {0, 1});
    uut = adopt(sys.spawn<recall_actor_impl>(
      [db = db] { return std::make_unique<test::fake_store>(db); }));
    settle();
  }

  void add_card(std::string id, std::vector<float> at) {
    auto card = test::make_card(id);
    card.embedding = std::move(at);
    card.user_id = "ann";
    db->cards.emplace(std::move(id), std::move(card));
  }

  auto search(std::vector<float> at, std::optional<std::string> user = {},
              uint32_t limit = 10) {
    card_search what;
    what.embedding = std::move(at);
    what.user_id = std::move(user);
    what.limit = limit;
    auto answer = ask<card_hits>(uut, what);
    settle();
    return answer;
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("the cards that are like an embedding, most similar first") {
  auto found = search({1.0f, 0.1f});
  REQUIRE(found->value.has_value());
  REQUIRE_EQ(found->value->size(), 2u);
  CHECK_EQ(found->value->front().card.id, "near");
  CHECK_GT(found->value->front().similarity, 0.9);
  CHECK_EQ(search({0, 1}, {}, 1)->value->front().card.id, "far");
  AND("only those of the user who asks") {
    CHECK_EQ(search({1, 0}, "bob")->value->size(), 0u);
    CHECK_EQ(search({1, 0}, "ann")->value->size(), 2u);
  }
}

SCENARIO("a lost connection is made anew") {
  search({1, 0});
  db->read_faults = 1;
  CHECK(search({1, 0})->value.has_value());
  CHECK_EQ(db->reconnects, 1u);
  db->down = true;
  CHECK_EQ(search({1, 0})->err, ec::store_unavailable);
  auto status = ask<actor_report>(uut, status_atom_v);
  settle();
  CHECK_EQ(status->value->state, "away");
  db->down = false;
  pass(250ms);
  CHECK(search({1, 0})->value.has_value());
}

END_FIXTURE_SCOPE()
