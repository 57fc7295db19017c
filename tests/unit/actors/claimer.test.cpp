// tests/unit/actors/claimer.test.cpp -- claims on a connection of their own,
// and one that breaks.
#define CAF_SUITE actors.claimer

#include "actors/claimer.hpp"

#include "support/actor_fixture.hpp"
#include "support/fake_store.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace reeve::test;
using namespace std::chrono_literals;

namespace {

struct fixture : actor_fixture {
  fake_database_ptr db = std::make_shared<fake_database>();
  claimer_actor uut;
  size_t connections = 0;
  bool refuses_connections = false;

  fixture() {
    for (auto seq = 1; seq <= 100; ++seq)
      db->jobs.emplace(seq, make_job(seq));
    uut = adopt(sys.spawn<claimer_impl>([this] {
      if (refuses_connections)
        throw store_unavailable("too many connections");
      ++connections;
      return std::make_unique<fake_store>(db);
    }));
    settle();
  }

  using counts = decltype(actor_report::counts);

  auto claim(int64_t token, uint32_t limit) {
    auto answer = ask<unread_claim_ptr>(
      uut,
      claim_write{{"node", 1}, {{"CARD_ANALYSIS", limit}}, limit, 30s, token});
    settle();
    return answer;
  }

  size_t running() const {
    return static_cast<size_t>(
      std::ranges::count_if(db->jobs, [](const auto& entry) {
        return entry.second.status == job_status::processing;
      }));
  }

  actor_report status() {
    return status_of(uut);
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("jobs are taken when the claim is answered, and read when asked") {
  auto got = claim(1, 64);
  REQUIRE(got->value.has_value());
  auto& taken = **got->value;
  CHECK_EQ(running(), 64u);
  CHECK_EQ(taken.size(), 64u);
  CHECK(taken.count_by_type()
        == (std::map<std::string, size_t>{{"CARD_ANALYSIS", 64}}));
  CHECK_EQ(taken.read().jobs.size(), 64u);
}

SCENARIO("one connection is kept for all claims") {
  CHECK_EQ(connections, 0u);
  claim(1, 40);
  claim(2, 40);
  CHECK_EQ(connections, 1u);
  CHECK_EQ(running(), 80u);
  CHECK_EQ(status().state, "idle");
  CHECK(status().counts == (counts{{"claims", 2}}));
}

SCENARIO("it is ready before the first backlog, and no later for it") {
  CHECK_EQ(connections, 0u);
  pass(250ms);
  CHECK_EQ(connections, 1u);
  CHECK_EQ(db->expectations, 1u);
  CHECK(status().counts == (counts{{"claims", 0}}));
  claim(1, 40);
  CHECK_EQ(connections, 1u);
  CHECK_EQ(db->expectations, 1u);
}

SCENARIO("who claims before it was readied has no second connection") {
  claim(1, 40);
  pass(250ms);
  CHECK_EQ(connections, 1u);
}

SCENARIO("a connection that is refused before it is needed is tried again") {
  refuses_connections = true;
  pass(250ms);
  CHECK_EQ(status().state, "away");
  refuses_connections = false;
  pass(4s);
  CHECK_EQ(status().state, "away");
  pass(1s);
  CHECK_EQ(status().state, "idle");
  CHECK_EQ(db->expectations, 1u);
  CHECK(claim(1, 64)->value.has_value());
}

SCENARIO("no claim takes jobs twice because its connection was lost") {
  claim(9, 10);
  for (auto how : {fault::before_commit, fault::after_commit}) {
    const auto before = running();
    db->apply_faults = {{db->batches.size() + 1, how}};
    auto got = claim(how == fault::before_commit ? 1 : 2, 30);
    REQUIRE(got->value.has_value());
    CHECK_EQ((*got->value)->size(), 30u);
    CHECK_EQ(running(), before + 30);
    CHECK(db->batches.back()[0].repeated);
  }
}

SCENARIO("where there is no connection left, the tree tells why") {
  refuses_connections = true;
  auto got = claim(1, 64);
  CHECK(got->err == ec::store_unavailable);
  CHECK_EQ(running(), 0u);
  CHECK_EQ(status().state, "away");
  CHECK_NE(status().last_error.find("too many connections"), std::string::npos);
}

SCENARIO("a claim that the store refuses costs nobody the connection") {
  struct refusing_store : fake_store {
    using fake_store::fake_store;

    claim_answer claim(const claim_write&, bool) override {
      return refusal{refusal_code::invalid_argument, "owner: empty"};
    }
  };
  uut = adopt(sys.spawn<claimer_impl>([this] {
    ++connections;
    return std::make_unique<refusing_store>(db);
  }));
  for (auto token : {1, 2})
    CHECK(claim(token, 64)->err == ec::invalid_argument);
  CHECK_EQ(connections, 1u);
}

END_FIXTURE_SCOPE()
