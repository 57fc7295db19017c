// tests/integration/persistence/postgres_runs.test.cpp -- claims and ends of
// runs as only PostgreSQL has them: records without foreign keys, several
// nodes at once, and instants as the server writes them.
#define CAF_SUITE persistence.postgres_runs

#include "persistence/store_rules.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <atomic>

#include "postgres_fixture.hpp"
#include "unknown_run.hpp"

using namespace reeve;

namespace {

struct fixture : postgres_fixture {
  claimed claim_across(uint32_t across, int64_t token) {
    return get<claimed>(claim_write{me,
                                    {{"TEST", 10, across}, {"SQL", 10}},
                                    20,
                                    std::chrono::seconds{30},
                                    token});
  }

  void execute(const std::string& sql) {
    pqxx::connection db{backend.url};
    pqxx::nontransaction{db}.exec(sql);
  }

  // What a plan does to find rows, e.g. `Seq Scan on job`.
  std::string plan_of(const postgres_statement& what, const std::string& args) {
    pqxx::connection db{backend.url};
    pqxx::nontransaction tx{db};
    plan_as_node(tx);
    tx.exec(std::string{"PREPARE it AS "} + what.sql);
    std::string result;
    for (const auto& row :
         tx.exec("EXPLAIN (COSTS OFF) EXECUTE it(" + args + ")"))
      result += row[0].as<std::string>() + '\n';
    return result;
  }

  static size_t count_of(const std::string& what, const std::string& text) {
    size_t result = 0;
    for (auto i = text.find(what); i != std::string::npos;
         i = text.find(what, i + 1))
      ++result;
    return result;
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

// -- records ------------------------------------------------------------------

SCENARIO("a deleted job leaves nothing behind to be run") {
  auto x = add(new_job()), y = add(new_job()), z = add(new_job());
  auto running = start();
  CHECK_EQ(running.id, x.id);
  pqxx::connection db{backend.url};
  pqxx::nontransaction{db}.exec("DELETE FROM reeve.job WHERE id IN ($1, $2)",
                                pqxx::params{x.id, y.id});
  CHECK_EQ(backend.number("SELECT count(*) FROM running"), 0);
  CHECK_EQ(backend.number("SELECT count(*) FROM queue"), 1);
  CHECK(std::holds_alternative<refusal>(
    store->apply({{completion(running), false}}).at(0)));
  CHECK_EQ(start(2).id, z.id);
  execute("TRUNCATE reeve.job CASCADE");
  CHECK_EQ(backend.number("SELECT count(*) FROM running"), 0);
  CHECK(store->stats().counts.empty());
}

SCENARIO("a job that is deleted while a claim takes it is not run") {
  add(new_job());
  pqxx::connection db{backend.url};
  pqxx::work tx{db};
  tx.exec("DELETE FROM reeve.job");
  CHECK(get<claimed>(claim_write{me, types, 5}).jobs.empty());
  tx.commit();
  CHECK(get<claimed>(claim_write{me, types, 5}).jobs.empty());
  CHECK_EQ(backend.number("SELECT count(*) FROM running"), 0);
}

SCENARIO("what waits without a record is not run, and in nobody's way") {
  execute("INSERT INTO reeve.queue (seq, job_type, priority, run_at)"
          " SELECT -i, 'TEST', -1, now() FROM generate_series(1, 30) i");
  auto x = add(new_job());
  types = {{"TEST", 10}};
  claim_write wanted{me, types, 10};
  auto got = get<claimed>(wanted).jobs;
  REQUIRE_EQ(got.size(), 1u);
  CHECK_EQ(got[0].id, x.id);
  CHECK_EQ(backend.number("SELECT count(*) FROM queue"), 0);
  CHECK(get<claimed>(claim_write{me, types, 5}).jobs.empty());
  CHECK_EQ(backend.number("SELECT count(*) FROM running"), 1);
}

SCENARIO("a claim by itself takes what others have not locked") {
  std::vector<job> all;
  for (int i = 0; i < 4; ++i)
    all.push_back(add(new_job()));
  pqxx::connection other{backend.url};
  pqxx::work tx{other};
  tx.exec("SELECT FROM reeve.queue WHERE seq IN (" + std::to_string(all[0].seq)
          + ", " + std::to_string(all[2].seq) + ") FOR UPDATE");
  const auto taken =
    std::get<unread_claim_ptr>(store->claim({me, types, 2}, false));
  CHECK_EQ(taken->size(), 2u);
  const auto found = taken->read();
  REQUIRE_EQ(found.jobs.size(), 2u);
  CHECK_EQ(found.jobs[0].seq, all[1].seq);
  CHECK_EQ(found.jobs[1].seq, all[3].seq);
  CHECK(found.more);
}

SCENARIO("a claim looks on behind what others have locked, and keeps limits") {
  std::vector<job> all;
  for (int i = 0; i < 15; ++i)
    all.push_back(add(new_job()));
  pqxx::connection other{backend.url};
  pqxx::work tx{other};
  tx.exec("SELECT FROM reeve.queue WHERE seq <= $1 FOR UPDATE",
          pqxx::params{all[8].seq});
  // No look goes so far that it finds all three.
  auto got = get<claimed>(claim_write{me, {{"TEST", 3}}, 5}).jobs;
  REQUIRE_EQ(got.size(), 3u);
  for (size_t i = 0; i < 3; ++i)
    CHECK_EQ(got[i].seq, all[9 + i].seq);
  tx.commit();
  got = get<claimed>(claim_write{me, {{"TEST", 100}}, 100}).jobs;
  REQUIRE_EQ(got.size(), 12u);
  CHECK_EQ(got.front().seq, all[0].seq);
  CHECK_EQ(got.back().seq, all[14].seq);
}

SCENARIO("what somebody wrote into a job by hand costs the others no run") {
  auto odd = add(new_job()), x = add(new_job());
  execute("UPDATE reeve.job SET created_at = 'infinity' WHERE seq = "
          + std::to_string(odd.seq));
  const auto taken =
    std::get<unread_claim_ptr>(store->claim({me, {{"TEST", 2}}, 2}, false));
  const auto found = taken->read();
  REQUIRE_EQ(found.jobs.size(), 1u);
  CHECK_EQ(found.jobs[0].seq, x.seq);
  CHECK(found.more);
}

SCENARIO("a claim that the server refuses takes nothing") {
  const auto x = add(new_job());
  execute("INSERT INTO reeve.running (seq, job_type, priority, run_at, run,"
          " attempts, throttled, provider_down, interrupted, lease_owner,"
          " lease_until, claim_token, version)"
          " SELECT seq, job_type, priority, run_at, run, attempts, throttled,"
          " provider_down, interrupted, 'x#1', now(), 7, version"
          " FROM reeve.queue");
  const auto answer = store->claim({me, types, 1}, false);
  CHECK(std::holds_alternative<refusal>(answer));
  execute("DELETE FROM reeve.running");
  CHECK_EQ(std::get<unread_claim_ptr>(store->claim({me, types, 1}, false))
             ->read()
             .jobs[0]
             .id,
           x.id);
}

SCENARIO(
  "a claim by itself that is cut off takes nothing, and can be repeated") {
  const auto x = add(new_job());
  pqxx::connection other{backend.url};
  pqxx::work tx{other};
  tx.exec("LOCK TABLE reeve.running IN EXCLUSIVE MODE");
  const claim_write wanted{me, types, 5, std::chrono::seconds{30}, 7};
  auto aside =
    std::async(std::launch::async, [&] { return store->claim(wanted, false); });
  await_blocked();
  CHECK_EQ(backend.cluster.terminate_backends(backend.name, "%candidate AS%"),
           1);
  unavailable([&] { aside.get(); });
  tx.abort();
  CHECK_EQ(backend.number("SELECT count(*) FROM running"), 0);
  store->reconnect();
  const auto again =
    std::get<unread_claim_ptr>(store->claim(wanted, true))->read();
  REQUIRE_EQ(again.jobs.size(), 1u);
  CHECK_EQ(again.jobs[0].id, x.id);
  CHECK_EQ(again.jobs[0].run, 1);
}

SCENARIO("claims that nobody could prepare for are made all the same") {
  const auto x = add(new_job());
  CHECK_EQ(backend.cluster.terminate_backends(backend.name, "%"), 1);
  store->expect_claims();
  store->reconnect();
  const auto got =
    std::get<unread_claim_ptr>(store->claim({me, types, 5}, false))->read();
  REQUIRE_EQ(got.jobs.size(), 1u);
  CHECK_EQ(got.jobs[0].id, x.id);
  store->expect_claims();
  CHECK(std::get<unread_claim_ptr>(store->claim({me, types, 5}, false))
          ->read()
          .jobs.empty());
}

SCENARIO("ends are counted once, whatever they were") {
  for (int i = 0; i < 4; ++i)
    add(new_job());
  std::vector<write_entry> batch;
  for (const auto& x : get<claimed>(claim_write{me, types, 4}).jobs)
    batch.push_back({completion(x), false});
  batch.push_back(batch.front());
  auto fails = completion(*std::get<settle_write>(batch[1].what).claimed);
  fails.decision = verdict::fail;
  batch[1].what = fails;
  store->apply(batch);
  std::map<job_status, int64_t> counts;
  for (const auto& x : store->stats().counts)
    counts[x.status] = x.count;
  CHECK_EQ(counts[job_status::completed], 3);
  CHECK_EQ(counts[job_status::failed], 1);
}

SCENARIO("a batch of many ends is one transaction") {
  enqueue_batch_write jobs;
  for (int i = 0; i < 200; ++i)
    jobs.jobs.push_back(new_job());
  get<enqueued_batch>(jobs);
  std::vector<write_entry> batch;
  for (const auto& x : get<claimed>(claim_write{me, types, 200}).jobs) {
    auto end = completion(x);
    if (batch.size() % 4 == 1)
      end.decision = verdict::fail;
    if (batch.size() % 4 == 2)
      end = next_run_of(end);
    if (batch.size() % 4 == 3)
      end.result = {{"text", std::string("\0", 1)}};
    batch.push_back({std::move(end), false});
  }
  REQUIRE_EQ(batch.size(), 200u);
  store->apply(batch);
  CHECK_EQ(backend.number("SELECT count(*) FROM job WHERE outcome <> ''"), 100);
  // Savepoints have numbers of their own.
  CHECK_EQ(backend.number("SELECT count(DISTINCT xmin::text) FROM job"
                          " WHERE outcome IS NOT NULL"),
           1);
}

// -- limits over all nodes ----------------------------------------------------

SCENARIO("a type that another node is claiming is left to it") {
  for (int i = 0; i < 4; ++i)
    add(new_job());
  execute("SELECT reeve.enqueue('SQL', 'target')");
  // What a claim of another node does before its commit.
  pqxx::connection db{backend.url};
  pqxx::work tx{db};
  tx.exec("SELECT pg_advisory_xact_lock(1919247734, hashtext('TEST'))");
  auto got = claim_across(2, 1);
  REQUIRE_EQ(got.jobs.size(), 1u);
  CHECK_EQ(got.jobs[0].type, "SQL");
  // Not at once, but soon.
  CHECK(!got.more);
  REQUIRE(got.next_due_in.has_value());
  CHECK_GT(got.next_due_in->count(), 0);
  CHECK_LE(got.next_due_in->count(), 1'000);
  // Who knows no limit is not held up.
  CHECK_EQ(get<claimed>(claim_write{me, types, 1}).jobs.size(), 1u);
  tx.abort();
  got = claim_across(2, 3);
  CHECK_EQ(got.jobs.size(), 1u);
  CHECK(!got.more);
  CHECK(!got.next_due_in);
}

SCENARIO("nodes that claim at once never exceed a limit") {
  constexpr int jobs = 120;
  constexpr int most = 3;
  enqueue_batch_write batch;
  for (int i = 0; i < jobs; ++i)
    batch.jobs.push_back(new_job());
  get<enqueued_batch>(batch);
  // Runs are counted after their claim and until before their end, so that
  // there are never fewer than these.
  std::atomic<int> running = 0, ended = 0, worst = 0;
  std::vector<std::thread> nodes;
  for (int i = 0; i < 3; ++i)
    nodes.emplace_back([&, i, connection = backend.connect()] {
      const lease_owner owner{"node-" + std::to_string(i), 1};
      for (int64_t token = 1; ended < jobs; ++token) {
        claim_write wanted{
          owner, {{"TEST", 10, most}}, 10, std::chrono::seconds{30}, token};
        auto got = std::get<claimed>(connection->apply({{wanted}}).at(0)).jobs;
        const auto now = running += static_cast<int>(got.size());
        for (auto seen = worst.load();
             seen < now && !worst.compare_exchange_weak(seen, now);)
          ; // nop
        std::vector<write_entry> ends;
        for (const auto& x : got)
          ends.push_back({completion(x), false});
        running -= static_cast<int>(got.size());
        for (const auto& x : connection->apply(ends))
          ended += std::holds_alternative<completed>(x);
      }
    });
  for (auto& x : nodes)
    x.join();
  CHECK_EQ(ended.load(), jobs);
  CHECK_LE(worst.load(), most);
}

// -- plans --------------------------------------------------------------------

SCENARIO("claims and ends look rows up, whatever the tables were like") {
  const std::string a_run = "'{1}', '{1}', '{null}'";
  const std::string a_claim = "10, 'a#1', 1000, 1, '{TEST}', '{10}', '{}'";
  // Nothing is known of a new table; and it is known to be empty.
  for (auto* known : {"", "ANALYZE reeve.job, reeve.queue, reeve.running"}) {
    execute(known);
    const auto claim = plan_of(claim_statement, a_claim);
    const auto end = plan_of(complete_statement, a_run);
    for (const auto& plan : {claim, end})
      if (count_of("Seq Scan", plan) > 0 || count_of("Hash Join", plan) > 0
          || count_of("Merge Join", plan) > 0)
        FAIL(plan);
    // An index that has `seq` behind other columns is no better than a scan.
    if (count_of("Index Scan using", end) != 2
        || count_of("Index Scan using running_pkey on", end) != 1
        || count_of("Index Scan using job_pkey on", end) != 1
        || count_of("Index Cond: (seq = ANY (ARRAY[", end) != 2)
      FAIL(end);
    if (count_of("Index Scan using queue_claim on", claim) != 1
        || count_of("Index Scan using job_pkey on", claim) != 1
        || count_of("Index Cond: (seq = ANY (ARRAY[", claim) != 1
        // A NOT IN that is not hashed is quadratic.
        || count_of("hashed SubPlan", claim) != 2)
      FAIL(claim);
    // What is locked is walked along the index, and deleted where it stands.
    if (count_of("Index Cond: ((job_type = share.job_type)", claim) != 1
        || count_of("(ROW(run_at, seq) <= ROW(share.run_at, share.seq))", claim)
          != 1
        || count_of("TID Cond: (ctid = ANY (", claim) != 1)
      FAIL(claim);
  }
}

// -- instants -----------------------------------------------------------------

SCENARIO("every instant that the store takes is read back as it was") {
  using namespace std::chrono;
  const auto some =
    timestamp{sys_days{2024y / February / 29} + 23h + 59min + 58s};
  for (auto at :
       {earliest_timestamp, earliest_timestamp + 1us, latest_timestamp,
        latest_timestamp - 999'999us, timestamp{}, timestamp{-1us},
        timestamp{1us}, timestamp{-1s}, some, some + 120ms, some + 1'020us,
        some + 999'999us, timestamp{sys_days{999y / December / 31} + 100us},
        timestamp{sys_days{1582y / October / 15} - 1us}}) {
    auto x = new_job();
    x.run_at = at;
    const auto added = add(x);
    const auto found = store->find_job(x.id);
    REQUIRE(found.has_value());
    CHECK(found->run_at == at);
    CHECK(added.run_at == at);
  }
}

END_FIXTURE_SCOPE()
