// tests/unit/actors/supervisor_lease.test.cpp -- runs that are to stop, and
// leases that were lost.
#define CAF_SUITE actors.supervisor_lease

#include "supervisor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

using fixture = test::supervisor_fixture;

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("a committed request to cancel interrupts the run") {
  boot();
  enqueue_due({1, 2});
  auto cancelled = test::make_claimed(2);
  cancelled.cancel_requested = true;
  commit({cancelled});
  REQUIRE_EQ(node->interrupts.size(), 1u);
  CHECK_EQ(node->interrupts[0].first, "job-2");
  CHECK_EQ(node->interrupts[0].second, 2);
  WHEN("the change is seen again") {
    commit({cancelled});
    THEN("the run is not interrupted twice") {
      CHECK_EQ(node->interrupts.size(), 1u);
    }
  }
  WHEN("the run ends with a failure") {
    report(2, outcome::failed("interrupted"));
    THEN("it was cancelled") {
      CHECK(only_settle().decision == verdict::cancel);
      CHECK(only_settle().outcome == run_outcome::cancelled);
    }
  }
}

SCENARIO("a run that completes in spite of a cancel is completed") {
  boot();
  enqueue_due({1});
  auto cancelled = test::make_claimed(1);
  cancelled.cancel_requested = true;
  commit({cancelled});
  report(1, outcome::completed({}));
  CHECK(only_settle().decision == verdict::complete);
}

SCENARIO("a cancel of an earlier run does not hit the current one") {
  boot();
  node->queue.push_back(test::make_claimed(1, 2));
  caf::anon_send(uut, wake_atom_v);
  settle();
  auto cancelled = test::make_claimed(1, 1);
  cancelled.cancel_requested = true;
  commit({cancelled});
  CHECK(node->interrupts.empty());
}

SCENARIO("leases are renewed three times in their length") {
  boot();
  CHECK_EQ(node->renewals, 1u);
  for (auto i = 2u; i <= 4; ++i) {
    pass(10s);
    CHECK_EQ(node->renewals, i);
  }
}

SCENARIO("a run whose lease was lost is dropped and settles nothing") {
  boot();
  enqueue_due({1, 2});
  node->leases = std::vector<held_lease>{{2, 1, false}};
  pass(10s);
  REQUIRE_EQ(node->interrupts.size(), 1u);
  CHECK_EQ(node->interrupts[0].second, 1);
  report(1, outcome::completed({}));
  CHECK(node->settles.empty());
  AND("the other run goes on, and the slot is free again") {
    enqueue_due({3});
    CHECK_EQ(node->runs.size(), 3u);
    report(2, outcome::completed({}));
    CHECK_EQ(only_settle().claimed->seq, 2);
  }
}

SCENARIO("a run that nobody knows of is given back, unspent") {
  boot();
  enqueue_due({1, 2, 3});
  node->hold_settles = true;
  report(2, outcome::completed({}));
  const auto token = node->claims.back().first.token;
  node->settles.clear();
  // One runs, one has ended, and one is a claim's that was given up.
  node->leases = std::vector<held_lease>{
    {1, 1, false, token}, {2, 1, false, token}, {9, 4, false, token}};
  pass(10s);
  CHECK(node->settles.empty());
  pass(10s);
  REQUIRE_EQ(node->settles.size(), 1u);
  const auto& [back, repeated] = node->settles[0];
  CHECK_EQ(back.claimed->seq, 9);
  CHECK_EQ(back.claimed->run, 4);
  CHECK_EQ(back.owner.str(), options.owner.str());
  CHECK(back.decision == verdict::retry_unspent);
  AND("once the store has it back, it is forgotten") {
    node->leases->pop_back();
    pass(10s);
    pass(10s);
    CHECK_EQ(node->settles.size(), 1u);
  }
}

SCENARIO("a run that ends while its lease is renewed is no unknown one") {
  boot();
  // Each renewal lists a run whose end was committed with it.
  for (auto seq : {1, 2, 3}) {
    enqueue_due({seq});
    report(seq, outcome::completed({}));
    node->settles.clear();
    node->leases = std::vector<held_lease>{
      {seq, 1, false, node->claims.back().first.token - 1}};
    pass(10s);
    CHECK(node->settles.empty());
  }
}

SCENARIO("a run whose end the store refuses is not done again") {
  boot();
  enqueue_due({1});
  node->settle_errors = {ec::conflict};
  report(1, outcome::failed("no"));
  CHECK_EQ(node->settles.size(), 1u);
  node->leases = std::vector<held_lease>{{1, 1, false, 1}};
  for (auto i = 0; i < 3; ++i)
    pass(10s);
  CHECK_EQ(node->settles.size(), 1u);
}

SCENARIO("a lease whose claim is not answered yet is no unknown one") {
  boot();
  node->hold_claims = true;
  caf::anon_send(uut, wake_atom_v);
  settle();
  node->leases =
    std::vector<held_lease>{{5, 1, false, node->claims.back().first.token}};
  pass(10s);
  pass(10s);
  claimed answer;
  answer.jobs.push_back(test::make_claimed(5));
  answer_claim(std::move(answer));
  pass(10s);
  pass(10s);
  CHECK(node->settles.empty());
  CHECK(node->interrupts.empty());
}

SCENARIO("a lease of another run of the same job does not count") {
  boot();
  enqueue_due({1});
  node->leases = std::vector<held_lease>{{1, 2, false}};
  pass(10s);
  CHECK_EQ(node->interrupts.size(), 1u);
}

SCENARIO("a renewal also tells of cancels that nobody announced") {
  boot();
  enqueue_due({1});
  node->leases = std::vector<held_lease>{{1, 1, true}};
  pass(10s);
  REQUIRE_EQ(node->interrupts.size(), 1u);
  report(1, outcome::cancelled());
  CHECK(only_settle().decision == verdict::cancel);
}

SCENARIO("a lost lease is counted, whoever finds out") {
  auto fenced = [this] {
    return sys.metrics()
      .counter_singleton("reeve.jobs", "fenced", "", "1", true)
      ->value();
  };
  boot();
  enqueue_due({1, 2});
  node->leases = std::vector<held_lease>{{2, 1, false}};
  pass(10s);
  report(1, outcome::completed({}));
  CHECK_EQ(fenced(), 1);
  node->settle_errors = {ec::lease_lost};
  report(2, outcome::completed({}));
  CHECK_EQ(fenced(), 2);
}

END_FIXTURE_SCOPE()
