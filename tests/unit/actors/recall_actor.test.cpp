// tests/unit/actors/recall_actor.test.cpp -- similarity search, and a provider
// of embeddings that fails.
#define CAF_SUITE actors.recall_actor

#include "actors/recall_actor.hpp"

#include "support/actor_fixture.hpp"
#include "support/fake_store.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <functional>
#include <stdexcept>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

using embedding = provider_answer<std::vector<float>>;

class scripted_model final : public analysis_model {
public:
  std::function<embedding(const std::string&)> script;

  lane_key lane() const override {
    return {"analysis-server", "v1"};
  }

  provider_answer<analysis> analyze(const scrap&, std::stop_token) override {
    return {};
  }

  embedding embed(const std::string& text, std::stop_token) override {
    return script(text);
  }
};

struct fixture : test::actor_fixture {
  test::fake_database_ptr db = std::make_shared<test::fake_database>();
  std::shared_ptr<scripted_model> model = std::make_shared<scripted_model>();
  reeve::recall_actor uut;

  fixture() {
    add_card("near", {1, 0});
    add_card("far", {0, 1});
    model->script = [](const std::string&) {
      embedding result;
      result.result = std::vector<float>{1.0f, 0.1f};
      return result;
    };
    uut = adopt(sys.spawn<recall_actor_impl>(
      std::make_unique<test::fake_store>(db), model));
    settle();
  }

  void add_card(std::string id, std::vector<float> at) {
    auto card = test::make_card(id);
    card.embedding = std::move(at);
    card.user_id = "ann";
    db->cards.emplace(std::move(id), std::move(card));
  }

  auto recall(std::string text, std::optional<std::string> user = {}) {
    auto answer =
      ask<card_hits>(uut, recall_query{std::move(text), std::move(user), 10});
    settle();
    return answer;
  }

  void fail_with(std::string message) {
    model->script = [message](const std::string&) {
      embedding result;
      provider_failure failure;
      failure.message = message;
      result.result = std::move(failure);
      return result;
    };
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("a text finds the cards that are like it, most similar first") {
  auto found = recall("anything");
  REQUIRE(found->value.has_value());
  REQUIRE_EQ(found->value->size(), 2u);
  CHECK_EQ(found->value->front().card.id, "near");
  CHECK_GT(found->value->front().similarity, 0.9);
  AND("only those of the user who asks") {
    CHECK_EQ(recall("anything", "bob")->value->size(), 0u);
    CHECK_EQ(recall("anything", "ann")->value->size(), 2u);
  }
}

SCENARIO("an embedding is searched for without its provider") {
  model->script = [](const std::string&) -> embedding {
    throw std::runtime_error("nobody is to ask");
  };
  card_search what;
  what.embedding = {0, 1};
  what.limit = 1;
  auto found = ask<card_hits>(uut, what);
  settle();
  REQUIRE(found->value.has_value());
  REQUIRE_EQ(found->value->size(), 1u);
  CHECK_EQ(found->value->front().card.id, "far");
}

SCENARIO("a provider that fails is named, and the actor lives on") {
  fail_with("connection refused");
  auto failed = recall("anything");
  CHECK_EQ(failed->err, ec::store_unavailable);
  CHECK(to_string(failed->err).find("analysis-server") != std::string::npos);
  CHECK(to_string(failed->err).find("connection refused") != std::string::npos);
  model->script = [](const std::string&) -> embedding {
    throw std::runtime_error("out of luck");
  };
  CHECK_EQ(recall("anything")->err, ec::store_unavailable);
  CHECK(!is_dead(uut));
  CHECK_EQ(db->reads, 0u);
}

SCENARIO("a lost connection is made anew") {
  db->read_faults = 1;
  CHECK(recall("anything")->value.has_value());
  CHECK_EQ(db->reconnects, 1u);
  db->down = true;
  CHECK_EQ(recall("anything")->err, ec::store_unavailable);
  auto status = ask<actor_report>(uut, status_atom_v);
  settle();
  CHECK_EQ(status->value->state, "away");
  db->down = false;
  pass(250ms);
  CHECK(recall("anything")->value.has_value());
}

END_FIXTURE_SCOPE()
