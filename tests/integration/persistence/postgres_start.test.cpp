// tests/integration/persistence/postgres_start.test.cpp -- new jobs that start
// in the statement that adds them, on a real server.
#define CAF_SUITE persistence.postgres_start

#include <caf/test/bdd_dsl.hpp>

#include "postgres_fixture.hpp"

using namespace reeve;

namespace {

struct fixture : postgres_fixture {
  claim_write wish(int64_t token) {
    return {me, types, 3, std::chrono::seconds{30}, token};
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("a session that is ended while a job starts leaves nothing behind") {
  pqxx::connection db{backend.url};
  pqxx::work tx{db};
  tx.exec("LOCK TABLE reeve.running IN SHARE MODE");
  auto added = new_job();
  auto aside = apply_aside({{wish(1)}, {added}});
  await_blocked();
  CHECK_EQ(backend.cluster.terminate_backends(backend.name, "WITH new_job%"),
           1);
  unavailable([&] { aside.get(); });
  tx.abort();
  store->reconnect();
  CHECK(!store->find_job(added.id));
  auto answers = store->apply({{wish(1), true}, {added, true}});
  auto got = as<claimed>(answers[0]);
  REQUIRE_EQ(got.jobs.size(), 1u);
  CHECK_EQ(got.jobs[0].id, added.id);
  CHECK_EQ(got.jobs[0].run, 1);
}

SCENARIO("a start that was committed is answered again when it is repeated") {
  auto added = new_job();
  auto first = as<claimed>(store->apply({{wish(1)}, {added}}).at(0));
  REQUIRE_EQ(first.jobs.size(), 1u);
  store->reconnect();
  auto answers = store->apply({{wish(1), true}, {added, true}});
  auto again = as<claimed>(answers[0]);
  REQUIRE_EQ(again.jobs.size(), 1u);
  CHECK_EQ(again.jobs[0].run, 1);
  CHECK_EQ(again.jobs[0].attempts, 1u);
  CHECK(as<enqueued>(answers[1]).kind == enqueue_kind::created);
  CHECK_EQ(backend.number("SELECT count(*) FROM job"), 1);
  CHECK_EQ(backend.number("SELECT count(*) FROM running"), 1);
}

SCENARIO("a type that is paused while a key is waited for does not start") {
  auto keyed = new_job();
  keyed.unique_key = "k";
  pqxx::connection db{backend.url};
  pqxx::work tx{db};
  tx.exec("SELECT reeve.enqueue('TEST', 'x', unique_key => 'k')");
  auto aside = apply_aside({{keyed}, {wish(1)}});
  await_blocked();
  pqxx::connection operator_session{backend.url};
  pqxx::nontransaction{operator_session}.exec(
    "INSERT INTO reeve.types (job_type, paused, reason)"
    " VALUES ('TEST', true, 'maintenance')");
  tx.abort();
  CHECK(as<claimed>(aside.get()).jobs.empty());
  CHECK(store->find_job(keyed.id)->status == job_status::pending);
}

SCENARIO("a job that starts as it comes in never stands in the queue") {
  for (int64_t i = 0; i < 5; ++i) {
    auto answers = store->apply({{wish(i)}, {new_job()}});
    auto got = as<claimed>(answers[0]);
    REQUIRE_EQ(got.jobs.size(), 1u);
    get<changed>(completion(got.jobs[0]));
  }
  store.reset();
  await_counted("running", "n_tup_ins", 5);
  CHECK_EQ(counted("queue", "n_tup_ins"), 0);
}

SCENARIO("of jobs that come by themselves one may be refused alone") {
  auto taken = new_job();
  store->apply({{taken}});
  auto later = new_job();
  later.run_at =
    timestamp{std::chrono::sys_days{std::chrono::year{2100} / 1 / 1}};
  const auto good = new_job();
  const auto answers = store->apply({{taken}, {good}, {later}, {good}});
  CHECK(std::get<refusal>(answers[0]).code == refusal_code::invalid_argument);
  CHECK_EQ(as<enqueued>(answers[1]).job.id, good.id);
  CHECK(as<enqueued>(answers[2]).job.run_at == later.run_at);
  CHECK(std::get<refusal>(answers[3]).code == refusal_code::invalid_argument);
  CHECK_EQ(backend.number("SELECT count(*) FROM queue"), 3);
  CHECK_EQ(backend.number("SELECT count(*) FROM job"), 3);
}

SCENARIO("jobs come in alike on both sides of where they are copied") {
  for (size_t count : {63u, 64u}) {
    std::vector<write_entry> batch;
    for (size_t i = 0; i < count; ++i)
      batch.push_back({new_job()});
    const auto answers = store->apply(batch);
    int64_t last = 0;
    for (size_t i = 0; i < count; ++i) {
      const auto& added = as<enqueued>(answers[i]).job;
      CHECK_EQ(added.id, std::get<enqueue_write>(batch[i].what).id);
      CHECK(added.seq > last);
      last = added.seq;
    }
  }
  CHECK_EQ(backend.number("SELECT count(*) FROM queue"), 127);
}

SCENARIO("ends that come with a job share its statement") {
  auto run = as<claimed>(store->apply({{wish(1)}, {new_job()}}).at(0)).jobs[0];
  pqxx::connection db{backend.url};
  pqxx::nontransaction{db}.exec(R"(
    CREATE TABLE public.seen (what text, at timestamptz, xid xid8);
    CREATE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO public.seen
      VALUES (TG_OP, statement_timestamp(), pg_current_xact_id());
      RETURN NULL;
    END $$;
    CREATE TRIGGER seen AFTER INSERT OR DELETE ON reeve.running
    FOR EACH ROW EXECUTE FUNCTION public.see())");
  auto added = new_job();
  auto answers = store->apply({{wish(2)}, {added}, {completion(run)}});
  auto got = as<claimed>(answers[0]);
  REQUIRE_EQ(got.jobs.size(), 1u);
  CHECK_EQ(got.jobs[0].id, added.id);
  CHECK(as<changed>(answers[2]).job.status == job_status::completed);
  CHECK_EQ(backend.number("SELECT count(*) FROM public.seen"), 2);
  CHECK_EQ(backend.number("SELECT count(DISTINCT (at, xid)) FROM public.seen"),
           1);
  store.reset();
  await_counted("running", "n_tup_del", 1);
  CHECK_EQ(counted("queue", "n_tup_ins"), 0);
}

SCENARIO("what cannot be read of a committed start is looked for again") {
  auto run = as<claimed>(store->apply({{wish(1)}, {new_job()}}).at(0)).jobs[0];
  pqxx::connection db{backend.url};
  // Years that only PostgreSQL can count: the end is in, its answer no time.
  pqxx::nontransaction{db}.exec("UPDATE reeve.running"
                                " SET started_at = 'infinity'");
  auto added = new_job();
  std::vector<write_entry> batch{{wish(2)}, {added}, {completion(run)}};
  unavailable([&] { store->apply(batch); });
  CHECK_EQ(backend.number("SELECT count(*) FROM job"
                          " WHERE outcome = 'COMPLETED'"),
           1);
  store->reconnect();
  for (auto& x : batch)
    x.repeated = true;
  auto answers = store->apply(batch);
  CHECK(as<enqueued>(answers[1]).kind == enqueue_kind::created);
  auto got = as<claimed>(answers[0]);
  REQUIRE_EQ(got.jobs.size(), 1u);
  CHECK_EQ(got.jobs[0].id, added.id);
  CHECK_EQ(got.jobs[0].run, 1);
}

SCENARIO("a start at once does not read a long queue") {
  pqxx::connection db{backend.url};
  pqxx::nontransaction{db}.exec(R"(
    SET reeve.node = 'on';
    INSERT INTO reeve.queue (seq, job_type, priority, run_at)
    SELECT -i, 'TEST', i % 7, now() + interval '1 hour'
    FROM generate_series(1, 500000) i;
    ANALYZE reeve.queue)");
  pqxx::work tx{db};
  tx.exec("SET LOCAL plan_cache_mode = force_generic_plan");
  tx.exec(std::string{"PREPARE start_jobs AS "} + start_jobs_statement.sql);
  const auto blocks = blocks_of(
    tx,
    "EXECUTE start_jobs(ARRAY[gen_random_uuid()], '{TEST}', '{target}',"
    " '{NULL}', ARRAY['{}'], '{0}', '{NULL}', '{3}', '{NULL}', '{NULL}',"
    " '{NULL}', '{0}', '{}', '{}', '{TEST}', 'a#1', 1000, 1)");
  tx.abort();
  CHECK_LT(blocks, 500);
  pqxx::nontransaction{db}.exec("DELETE FROM reeve.queue WHERE seq < 0");
}

END_FIXTURE_SCOPE()
