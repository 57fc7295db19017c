// tests/integration/persistence/conformance_running.hpp -- what is told of runs
// that are under way, and what keeps them alive. Included once by the suite of
// each store.
#include "conformance_fixture.hpp"

namespace conformance_running {

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("progress is seen, and only that of the current run") {
  add();
  auto running = start();
  auto x =
    get<changed>(progress_write{running.seq, running.run, 40, "페이지 4"}).job;
  CHECK_EQ(x.progress_percent, 40);
  CHECK_EQ(x.progress_message, "페이지 4");
  CHECK_GT(x.version, running.version);
  CHECK_EQ(seen(x), seen(now(running)));
  auto wild = get<changed>(progress_write{running.seq, running.run, 400,
                                          std::string("a\0b\xff", 4)})
                .job;
  CHECK_EQ(wild.progress_percent, 100);
  CHECK_EQ(wild.progress_message, "a\uFFFDb\uFFFD");
  auto negative =
    get<changed>(progress_write{running.seq, running.run, -1, ""}).job;
  CHECK_EQ(negative.progress_percent, 0);
  auto before = seen(now(running));
  for (auto run : {running.run - 1, running.run + 1})
    CHECK_EQ(refused(progress_write{running.seq, run, 1, "late"}),
             "lease_lost");
  CHECK_EQ(refused(progress_write{running.seq + 1, 1, 1, "nobody"}),
           "lease_lost");
  CHECK_EQ(seen(now(running)), before);
  auto end = complete(running);
  CHECK_EQ(end.progress_percent, 100);
  CHECK_EQ(end.progress_message, "");
  CHECK_EQ(refused(progress_write{running.seq, running.run, 1, "late"}),
           "lease_lost");
}

SCENARIO("a job that is not running has no progress, except that it is done") {
  using enum verdict;
  for (auto decision : {complete, fail, cancel, retry, retry_unspent}) {
    add();
    auto running = start();
    get<changed>(progress_write{running.seq, running.run, 40, "page 2 of 5"});
    auto x = settle(running, run_outcome::completed, decision);
    CHECK_EQ(x.progress_percent, decision == complete ? 100 : 0);
    CHECK_EQ(x.progress_message, "");
    CHECK_EQ(seen(x), seen(now(x)));
    CHECK_EQ(backend.number("SELECT count(*) FROM jobs"
                            " WHERE progress_message <> ''"),
             0);
    if (x.status == job_status::pending)
      get<changed>(cancel_write{x.id});
  }
}

SCENARIO("a heartbeat renews the owner's leases and nobody else's") {
  for (int i = 0; i < 3; ++i)
    add();
  auto first = start(), second = start(), foreign = start(other);
  get<changed>(cancel_write{second.id});
  auto leases = get<renewed>(heartbeat_write{me, ms{60'000}}).leases;
  REQUIRE_EQ(leases.size(), 2u);
  const auto token = leases[0].claim_token;
  CHECK_NE(token, 0);
  CHECK((leases[0] == held_lease{first.seq, first.run, false, token}));
  CHECK((leases[1] == held_lease{second.seq, second.run, true, token + 1}));
  CHECK_EQ(get<renewed>(heartbeat_write{other}).leases.size(), 1u);
  // A renewed lease of no time is an expired one: only its owner's go.
  get<renewed>(heartbeat_write{other, ms{0}});
  auto got = get<rescued>(rescue_write{me}).jobs;
  REQUIRE_EQ(got.size(), 1u);
  CHECK_EQ(got[0].id, foreign.id);
  auto newer = me;
  newer.incarnation += 1;
  CHECK(get<renewed>(heartbeat_write{newer}).leases.empty());
}

SCENARIO("a heartbeat keeps a short lease from expiring") {
  add();
  auto running = start(other, ms{0});
  get<renewed>(heartbeat_write{other, ms{60'000}});
  CHECK(get<rescued>(rescue_write{me}).jobs.empty());
  CHECK_EQ(state(running), "PROCESSING");
}

SCENARIO("a run of which only its number is known can be given back") {
  auto x = add();
  auto running = start();
  auto ghost = std::make_shared<job>();
  ghost->seq = running.seq;
  ghost->run = running.run;
  settle_write back;
  back.claimed = ghost;
  back.owner = me;
  back.outcome = run_outcome::interrupted;
  back.decision = verdict::retry_unspent;
  back.why = "nobody has it";
  auto got = get<changed>(back).job;
  CHECK_EQ(got.id, x.id);
  CHECK(got.status == job_status::pending);
  CHECK_EQ(got.attempts, 0u);
  CHECK_EQ(start().id, x.id);
  // By now the job has another run.
  CHECK_EQ(refused(back), "lease_lost");
}

END_FIXTURE_SCOPE()

} // namespace conformance_running
