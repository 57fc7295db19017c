// tests/integration/persistence/conformance_requests.hpp -- cancel, retry and
// rescue. Included once by the suite of each store.
#include "conformance_fixture.hpp"

namespace conformance_requests {

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("which states can be cancelled") {
  using enum job_status;
  auto waiting = in_state(pending);
  auto x = get<changed>(cancel_write{waiting.id}).job;
  CHECK(x.status == cancelled);
  CHECK(x.finished_at.has_value());
  CHECK_GT(x.version, waiting.version);
  CHECK_EQ(seen(x), seen(now(x)));
  CHECK(get<claimed>(claim(1)).jobs.empty());

  auto running = in_state(processing);
  x = get<changed>(cancel_write{running.id}).job;
  CHECK(x.status == processing);
  CHECK(x.cancel_requested);
  CHECK_GT(x.version, running.version);
  CHECK(get<changed>(cancel_write{running.id}).job.cancel_requested);

  for (auto status : {completed, failed, cancelled}) {
    x = in_state(status);
    auto no = answer(cancel_write{x.id});
    CHECK_EQ(code_of(no), "conflict");
    CHECK(message_of(no).find(to_string(status)) != std::string::npos);
    CHECK_EQ(seen(now(x)), seen(x));
  }
  CHECK_EQ(refused(cancel_write{make_uuid()}), "not_found");
  CHECK_EQ(refused(cancel_write{"no-uuid"}), "not_found");
}

SCENARIO("a repeated cancel finds its own work done") {
  auto x = in_state(job_status::cancelled);
  CHECK_EQ(seen(get<changed>(cancel_write{x.id}, true).job), seen(x));
  auto failed = in_state(job_status::failed);
  CHECK_EQ(refused(cancel_write{failed.id}, true), "conflict");
}

SCENARIO("a cancel request is never lost to a retry") {
  using enum run_outcome;
  for (auto [outcome, decision] :
       {std::pair{failed, verdict::retry},
        std::pair{throttled, verdict::retry_unspent},
        std::pair{interrupted, verdict::retry_unspent},
        std::pair{snoozed, verdict::retry_unspent},
        std::pair{cancelled, verdict::cancel}}) {
    add();
    auto running = start();
    get<changed>(cancel_write{running.id});
    auto x = settle(running, outcome, decision);
    CHECK(x.status == job_status::cancelled);
    CHECK(!x.cancel_requested);
    auto attempts = store->attempts_of(x.id);
    REQUIRE_EQ(attempts.size(), 1u);
    CHECK(attempts[0].decision == verdict::cancel);
    CHECK(!attempts[0].next_run_at);
  }
  add();
  auto running = start();
  get<changed>(cancel_write{running.id});
  CHECK(complete(running).status == job_status::completed);
  add();
  running = start();
  get<changed>(cancel_write{running.id});
  CHECK(fail(running).status == job_status::failed);
  add();
  running = start(other, ms{0});
  get<changed>(cancel_write{running.id});
  auto got = get<rescued>(rescue_write{me}).jobs;
  REQUIRE_EQ(got.size(), 1u);
  CHECK(got[0].status == job_status::cancelled);
}

SCENARIO("which states can be retried") {
  using enum job_status;
  for (auto status : {failed, cancelled}) {
    auto x = in_state(status);
    auto again = get<changed>(retry_write{x.id}).job;
    CHECK(again.status == pending);
    CHECK_EQ(again.reason, "retry requested");
    CHECK_EQ(again.attempts, 0u);
    CHECK(again.unspent == unspent_counts{});
    CHECK(again.result.is_null());
    CHECK(again.error_message == x.error_message);
    CHECK(!again.finished_at);
    CHECK_EQ(again.run, x.run);
    CHECK_GT(again.version, x.version);
    CHECK_EQ(seen(again), seen(now(x)));
    auto running = start();
    CHECK_EQ(running.id, x.id);
    CHECK_EQ(running.run, x.run + 1);
    CHECK_EQ(running.attempts, 1u);
    complete(running);
  }
  for (auto status : {completed, pending, processing}) {
    auto x = in_state(status);
    auto no = answer(retry_write{x.id});
    CHECK_EQ(code_of(no), "conflict");
    CHECK(message_of(no).find(to_string(status)) != std::string::npos);
    CHECK_EQ(seen(now(x)), seen(x));
    if (status == pending)
      get<changed>(cancel_write{x.id});
  }
  CHECK_EQ(refused(retry_write{make_uuid()}), "not_found");
  CHECK_EQ(refused(retry_write{"no-uuid"}), "not_found");
}

SCENARIO("a repeated retry finds its own work done") {
  auto x = in_state(job_status::failed);
  auto again = get<changed>(retry_write{x.id}).job;
  CHECK_EQ(seen(get<changed>(retry_write{x.id}, true).job), seen(again));
  CHECK_EQ(refused(retry_write{x.id}), "conflict");
  CHECK_EQ(backend.number("SELECT count(*) FROM queue"), 1);
}

SCENARIO("a retry does not break a unique key") {
  auto x = new_job();
  x.unique_key = "key";
  add(x);
  auto failed = fail(start());
  x.id = make_uuid();
  auto holder = add(x);
  CHECK_EQ(refused(retry_write{failed.id}), "conflict");
  CHECK_EQ(seen(now(failed)), seen(failed));
  complete(start());
  CHECK_EQ(get<changed>(retry_write{failed.id}).job.id, failed.id);
  x.id = make_uuid();
  CHECK_EQ(get<enqueued>(x).job.id, failed.id);
  CHECK_NE(holder.id, failed.id);
}

SCENARIO("a retry of a job takes up where its attempts ended") {
  auto x = new_job();
  x.max_attempts = 1;
  add(x);
  for (int run = 1; run <= 3; ++run) {
    auto running = start();
    CHECK_EQ(running.run, run);
    get<changed>(retry_write{fail(running).id});
  }
  CHECK_EQ(store->attempts_of(x.id).size(), 3u);
}

// -- rescue -------------------------------------------------------------------

SCENARIO("a rescue takes older incarnations of the node at once") {
  for (int i = 0; i < 4; ++i)
    add();
  auto mine = start();
  auto older = me, newer = me, longer = me;
  older.incarnation -= 1;
  newer.incarnation += 1;
  longer.node += "-2";
  longer.incarnation = 1;
  auto stale = start(older);
  auto future = start(newer);
  auto foreign = start(longer);
  auto got = get<rescued>(rescue_write{me});
  REQUIRE_EQ(got.jobs.size(), 1u);
  CHECK(!got.more);
  const auto& x = got.jobs.front();
  CHECK_EQ(x.id, stale.id);
  CHECK(x.status == job_status::pending);
  CHECK_EQ(x.reason, "rescued");
  CHECK_EQ(x.attempts, 1u);
  CHECK_EQ(x.run, 1);
  CHECK_GT(x.version, stale.version);
  CHECK_EQ(seen(x), seen(now(stale)));
  auto attempts = store->attempts_of(x.id);
  REQUIRE_EQ(attempts.size(), 1u);
  CHECK(attempts[0].outcome == run_outcome::lost);
  CHECK(attempts[0].decision == verdict::retry);
  CHECK_EQ(attempts[0].node, "node-a");
  CHECK(attempts[0].next_run_at.has_value());
  for (const auto& y : {mine, future, foreign})
    CHECK_EQ(state(y), "PROCESSING");
  auto again = start();
  CHECK_EQ(again.id, stale.id);
  CHECK_EQ(again.attempts, 2u);
}

SCENARIO("incarnations are compared as numbers") {
  add();
  auto before = me;
  before.incarnation = 9;
  start(before);
  auto after = me;
  after.incarnation = 10;
  CHECK_EQ(get<rescued>(rescue_write{after}).jobs.size(), 1u);
  CHECK(get<rescued>(rescue_write{after}).jobs.empty());
}

SCENARIO("a rescue takes expired leases of others, never the caller's") {
  for (int i = 0; i < 3; ++i)
    add();
  auto expired = start(other, ms{0});
  auto held = start(other);
  auto mine = start(me, ms{0});
  auto got = get<rescued>(rescue_write{me}).jobs;
  REQUIRE_EQ(got.size(), 1u);
  CHECK_EQ(got[0].id, expired.id);
  CHECK_EQ(state(held), "PROCESSING");
  CHECK_EQ(state(mine), "PROCESSING");
  CHECK_EQ(get<rescued>(rescue_write{other}).jobs.size(), 1u);
  CHECK_EQ(refused(ending(mine, run_outcome::completed, verdict::complete)),
           "lease_lost");
}

SCENARIO("a rescue takes at most its limit") {
  for (int i = 0; i < 5; ++i) {
    add();
    start(other, ms{0});
  }
  rescue_write x{me, 2};
  std::vector<size_t> sizes;
  for (bool more = true; more;) {
    auto got = get<rescued>(x);
    sizes.push_back(got.jobs.size());
    more = got.more;
  }
  CHECK_EQ(sizes, (std::vector<size_t>{2, 2, 1}));
}

SCENARIO("a job that kills its node in every attempt is poison") {
  auto x = add();
  for (int run = 1; run <= 3; ++run) {
    start(other, ms{0});
    auto got = get<rescued>(rescue_write{me}).jobs;
    REQUIRE_EQ(got.size(), 1u);
    CHECK_EQ(got[0].attempts, static_cast<uint32_t>(run));
    CHECK(got[0].status
          == (run < 3 ? job_status::pending : job_status::failed));
  }
  auto poison = now(x);
  CHECK(poison.status == job_status::failed);
  REQUIRE(poison.error_message.has_value());
  CHECK(poison.error_message->find("died 3 times") != std::string::npos);
  CHECK(poison.finished_at.has_value());
  auto attempts = store->attempts_of(x.id);
  REQUIRE_EQ(attempts.size(), 3u);
  CHECK(attempts[1].decision == verdict::retry);
  CHECK(attempts[2].decision == verdict::fail);
  CHECK(attempts[2].outcome == run_outcome::lost);
  CHECK(get<claimed>(claim(1)).jobs.empty());
}

END_FIXTURE_SCOPE()

} // namespace conformance_requests
