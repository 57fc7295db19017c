// tests/integration/persistence/postgres.test.cpp -- what only PostgreSQL has:
// sessions that break, other nodes and SQL clients.
#define CAF_SUITE persistence.postgres

#include <caf/test/bdd_dsl.hpp>

#include <atomic>

#include "postgres_fixture.hpp"

using namespace reeve;

namespace {

using fixture = postgres_fixture;

std::string enqueue_sql(const std::string& key) {
  return "SELECT reeve.enqueue('SQL', 'target', unique_key => '" + key + "')";
}

template <class F>
std::string mismatch(F f) {
  try {
    f();
  } catch (const schema_mismatch& err) {
    return err.what();
  }
  FAIL("expected schema_mismatch");
  return "";
}

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

// -- migrating ----------------------------------------------------------------

SCENARIO("eight nodes migrate an empty database at once") {
  auto& cluster = backend.cluster;
  const auto name = cluster.create_database();
  const auto url = cluster.url(name);
  std::atomic<int> ran = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      auto factory = store_factory::make(url);
      ran += factory->migrate();
      factory->connect()->ping();
    });
  for (auto& x : threads)
    x.join();
  CHECK_EQ(ran.load(), static_cast<int>(postgres_migrations().size()));
  CHECK_EQ(make_postgres_factory(url)->migrate(), 0);
  cluster.drop_database(name);
}

SCENARIO("a schema of another reeve is refused by name") {
  CHECK_EQ(backend.factory->migrate(), 0);
  pqxx::connection db{backend.url};
  pqxx::nontransaction{db}.exec(
    "INSERT INTO reeve.migrations (version, name, checksum)"
    " VALUES (9999, '9999_future.sql', '')");
  auto newer = mismatch([this] { backend.factory->migrate(); });
  CHECK(newer.find("9999_future.sql") != std::string::npos);
  pqxx::nontransaction{db}.exec(
    "DELETE FROM reeve.migrations WHERE version = 9999");
  pqxx::nontransaction{db}.exec(
    "UPDATE reeve.migrations SET checksum = 'other' WHERE version = 1");
  auto other = mismatch([this] { backend.factory->migrate(); });
  CHECK(other.find("0001_jobs.sql") != std::string::npos);
}

// -- broken sessions ----------------------------------------------------------

SCENARIO("a session that was ended between batches is replaced") {
  auto x = add(new_job());
  CHECK_EQ(backend.cluster.terminate_backends(backend.name), 1);
  unavailable([this] { store->apply({{new_job()}}); });
  unavailable([this] { store->ping(); });
  unavailable([&] { store->find_job(x.id); });
  store->reconnect();
  CHECK(store->find_job(x.id).has_value());
}

SCENARIO("a batch that was committed is answered again when it is repeated") {
  auto x = new_job();
  x.unique_key = "key";
  x.idempotency_key = "request";
  x.idempotency_hash = "hash";
  auto first = get<enqueued>(x);
  store->reconnect();
  auto again = get<enqueued>(x, true);
  CHECK(again.kind == enqueue_kind::created);
  CHECK_EQ(again.job.seq, first.job.seq);
  claim_write claim{me, types, 5, std::chrono::seconds{30}, 77};
  auto running = get<claimed>(claim).jobs;
  REQUIRE_EQ(running.size(), 1u);
  store->reconnect();
  auto found = get<claimed>(claim, true).jobs;
  REQUIRE_EQ(found.size(), 1u);
  CHECK_EQ(found[0].run, running[0].run);
  CHECK_EQ(found[0].attempts, 1u);
  auto end = completion(running[0]);
  auto done_job = get<changed>(end).job;
  store->reconnect();
  auto done_again = get<changed>(end, true).job;
  CHECK_EQ(done_again.version, done_job.version);
  CHECK(done_again.status == job_status::completed);
  CHECK_EQ(backend.number("SELECT count(*) FROM job"), 1);
}

SCENARIO("a session that is ended inside a batch leaves nothing behind") {
  add(new_job());
  auto running = start();
  pqxx::connection db{backend.url};
  pqxx::work tx{db};
  tx.exec("SELECT 1 FROM reeve.running FOR UPDATE");
  auto added = new_job();
  auto aside = apply_aside({{added}, {completion(running)}});
  await_blocked();
  CHECK_EQ(
    backend.cluster.terminate_backends(backend.name, "%DELETE FROM%running%"),
    1);
  unavailable([&] { aside.get(); });
  tx.abort();
  store->reconnect();
  CHECK(!store->find_job(added.id));
  CHECK(store->find_job(running.id)->status == job_status::processing);
  auto answers = store->apply({{added, true}, {completion(running), true}});
  CHECK(as<enqueued>(answers[0]).kind == enqueue_kind::created);
  CHECK(as<changed>(answers[1]).job.status == job_status::completed);
}

SCENARIO("a run that another node rescued is not taken for our own end") {
  add(new_job());
  auto running = start();
  auto other = backend.connect();
  pqxx::connection db{backend.url};
  pqxx::nontransaction{db}.exec(
    "UPDATE reeve.running SET lease_until = now() - interval '1 s'");
  auto got =
    as<rescued>(other->apply({{rescue_write{lease_owner{"node-b", 1}}}}).at(0));
  REQUIRE_EQ(got.jobs.size(), 1u);
  auto end = completion(running);
  end.outcome = run_outcome::failed;
  end.decision = verdict::fail;
  auto answer = store->apply({{end, true}}).at(0);
  REQUIRE(std::holds_alternative<refusal>(answer));
  CHECK(std::get<refusal>(answer).code == refusal_code::lease_lost);
}

SCENARIO("a store outlives a crash of the server") {
  // A server of its own: the others are shared.
  postgres_cluster cluster;
  auto factory = make_postgres_factory(cluster.url());
  factory->migrate();
  auto survivor = factory->connect();
  auto x = new_job();
  survivor->apply({{x}});
  cluster.stop_immediate();
  unavailable([&] { survivor->ping(); });
  unavailable([&] { survivor->reconnect(); });
  unavailable([&] { survivor->apply({{new_job()}}); });
  unavailable([&] { factory->connect(); });
  unavailable([&] { factory->migrate(); });
  cluster.start();
  survivor->reconnect();
  CHECK(survivor->find_job(x.id).has_value());
  auto answer = survivor->apply({{x, true}}).at(0);
  CHECK(as<enqueued>(answer).kind == enqueue_kind::created);
}

SCENARIO("a database that takes no writes is unavailable, not refusing") {
  pqxx::connection db{backend.url};
  pqxx::nontransaction{db}.exec("ALTER DATABASE " + db.quote_name(backend.name)
                                + " SET default_transaction_read_only = on");
  store->reconnect();
  unavailable([this] { store->apply({{new_job()}}); });
}

// -- other writers ------------------------------------------------------------

SCENARIO("a key whose holder rolls back goes to who waited for it") {
  pqxx::connection db{backend.url};
  pqxx::work tx{db};
  tx.exec(enqueue_sql("key"));
  auto x = new_job();
  x.unique_key = "key";
  auto aside = apply_aside({{x}});
  await_blocked();
  tx.abort();
  CHECK(as<enqueued>(aside.get()).kind == enqueue_kind::created);
}

SCENARIO("a deadlock with another writer is resolved") {
  pqxx::connection db{backend.url};
  // So that it is the store that notices, and gives way.
  pqxx::nontransaction{db}.exec("SET deadlock_timeout = '1min'");
  pqxx::work tx{db};
  tx.exec(enqueue_sql("first"));
  auto x = new_job(), y = new_job();
  x.unique_key = "second";
  y.unique_key = "first";
  auto aside = apply_aside({{x}, {y}});
  await_blocked();
  tx.exec(enqueue_sql("second"));
  tx.commit();
  CHECK(as<enqueued>(aside.get()).kind == enqueue_kind::deduplicated);
  CHECK_EQ(backend.number("SELECT count(*) FROM job"), 2);
}

SCENARIO("settling and rescuing nodes neither lose nor repeat a run") {
  constexpr size_t jobs = 400;
  enqueue_batch_write batch;
  for (size_t i = 0; i < jobs; ++i) {
    batch.jobs.push_back(new_job());
    batch.jobs.back().max_attempts = 1'000;
  }
  get<enqueued_batch>(batch);
  std::atomic<size_t> ended = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&, i, connection = backend.connect()] {
      lease_owner owner{"node-" + std::to_string(i), 1};
      for (int64_t token = 1; ended < jobs; ++token) {
        // Leases of no time: every other node takes the runs away.
        auto answers = connection->apply(
          {{claim_write{owner, types, 50, std::chrono::milliseconds{0}, token}},
           {rescue_write{owner, 20}}});
        std::vector<write_entry> ends;
        for (const auto& x : std::get<claimed>(answers[0]).jobs) {
          auto end = completion(x);
          end.owner = owner;
          ends.push_back({end});
        }
        std::reverse(ends.begin(), ends.end());
        ends.push_back({heartbeat_write{owner}});
        for (const auto& x : connection->apply(ends))
          ended += std::holds_alternative<completed>(x);
      }
    });
  for (auto& x : threads)
    x.join();
  CHECK_EQ(ended.load(), jobs);
  CHECK_EQ(backend.number("SELECT count(*) FROM job"
                          " WHERE outcome = 'COMPLETED'"),
           static_cast<int64_t>(jobs));
  CHECK_EQ(backend.number("SELECT count(*) FROM running"), 0);
  CHECK_EQ(backend.number("SELECT count(*) FROM queue"), 0);
}

// -- enqueueing from SQL ------------------------------------------------------

SCENARIO("SQL clients enqueue inside their own transactions") {
  pqxx::connection listener{backend.url};
  int notified = 0;
  listener.listen("reeve_queue",
                  [&notified](pqxx::notification) { ++notified; });
  auto news = [&] {
    notified = 0;
    // Notifications of commits before this statement come with its answer.
    pqxx::nontransaction{listener}.exec("SELECT 1");
    listener.get_notifs();
    return notified;
  };
  pqxx::connection db{backend.url};
  {
    pqxx::work tx{db};
    tx.exec("SELECT reeve.enqueue('SQL', 'gone')");
    tx.abort();
  }
  CHECK_EQ(news(), 0);
  CHECK_EQ(backend.number("SELECT count(*) FROM job"), 0);
  std::string id;
  {
    pqxx::work tx{db};
    id = tx.exec("SELECT reeve.enqueue('SQL', 'one', '{\"a\": 1}', -3,"
                 " max_attempts => 5, user_id => 'user')")
           .one_row()[0]
           .as<std::string>();
    tx.exec("SELECT reeve.enqueue('SQL', 'two')");
    tx.commit();
  }
  CHECK_EQ(news(), 1);
  CHECK(is_uuid(id));
  CHECK_EQ(id[14], '7');
  CHECK(std::string{"89ab"}.find(id[19]) != std::string::npos);
  auto running = start();
  CHECK_EQ(running.id, id);
  CHECK_EQ(running.type, "SQL");
  CHECK_EQ(running.target_id, "one");
  CHECK_EQ(running.payload->dump(), R"({"a":1})");
  CHECK_EQ(running.priority, -3);
  CHECK_EQ(running.max_attempts, 5u);
  CHECK(running.user_id == "user");
  get<changed>(completion(running));
  CHECK_EQ(news(), 0);
  // Of the store's own jobs the node tells the others.
  store->apply({{new_job()}, {new_job()}});
  CHECK_EQ(news(), 0);
  store->announce();
  CHECK_EQ(news(), 1);
}

SCENARIO("SQL clients cannot enqueue nonsense, and share unique keys") {
  pqxx::connection db{backend.url};
  auto id_of = [&](const std::string& sql) {
    return pqxx::nontransaction{db}.exec(sql).one_row()[0].as<std::string>();
  };
  for (const char* arguments :
       {"'', 'target'", "'SQL', ''", "NULL, 'target'", "'SQL', NULL",
        "'SQL', 'x', run_at => 'infinity'", "'SQL', 'x', max_attempts => 0"})
    CHECK_THROWS_AS(
      id_of("SELECT reeve.enqueue(" + std::string{arguments} + ")"),
      pqxx::integrity_constraint_violation);
  const auto first = id_of(enqueue_sql("key"));
  CHECK_EQ(id_of(enqueue_sql("key")), first);
  auto x = new_job();
  x.unique_key = "key";
  CHECK_EQ(get<enqueued>(x).job.id, first);
}

SCENARIO("SQL clients hand their trace on, and an invalid one is none") {
  pqxx::connection db{backend.url};
  auto trace_of = [&](const std::string& value) {
    const auto id =
      pqxx::nontransaction{db}
        .exec("SELECT reeve.enqueue('SQL', 'x', traceparent => " + value + ")")
        .one_row()[0]
        .as<std::string>();
    return store->find_job(id).value().trace.parent;
  };
  const std::string good =
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  CHECK_EQ(trace_of("'" + good + "'"), good);
  for (const char* bad :
       {"NULL", "''", "'00'",
        "E'00-4bf92f3577b34da6a3ce929d0e0e4736-"
        "00f067aa0ba902b7-01\\n'",
        "'00-00000000000000000000000000000000-00f067aa0ba902b7-01'",
        "'00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01'",
        "'00-4BF92F3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'",
        "'ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'"})
    CHECK_EQ(trace_of(bad), "");
}

// -- waking ------------------------------------------------------------------

SCENARIO("resuming a type wakes other nodes") {
  auto ears = backend.factory->listen();
  get<done>(pause_write{"TEST", true, "maintenance"});
  CHECK(!ears->wait(std::chrono::milliseconds{0}));
  get<done>(pause_write{"TEST", false, ""});
  CHECK(ears->wait(std::chrono::seconds{30}));
}

// -- money --------------------------------------------------------------------

SCENARIO("nobody rewrites the ledger") {
  get<granted>(grant_write{make_uuid(), "user", 5, ""});
  pqxx::connection db{backend.url};
  for (const char* sql : {"UPDATE reeve.ledger SET amount = 6",
                          "DELETE FROM reeve.ledger", "TRUNCATE reeve.ledger"})
    CHECK_THROWS_AS(pqxx::nontransaction{db}.exec(sql), pqxx::sql_error);
  CHECK_EQ(backend.number("SELECT sum(amount)::bigint FROM ledger"), 5);
}

SCENARIO("a charge waits for one that is under way and then sees it") {
  get<granted>(grant_write{make_uuid(), "user", 10, ""});
  pqxx::connection db{backend.url};
  pqxx::work tx{db};
  tx.exec("INSERT INTO reeve.ledger (user_id, kind, amount, grant_id)"
          " VALUES ('user', 'grant', -4, gen_random_uuid())");
  tx.exec("UPDATE reeve.accounts SET balance = balance - 4");
  auto x = new_job();
  x.user_id = "user";
  x.price = 10;
  auto aside = apply_aside({{x}});
  await_blocked();
  tx.commit();
  auto answer = aside.get();
  REQUIRE(std::holds_alternative<refusal>(answer));
  CHECK(std::get<refusal>(answer).code == refusal_code::insufficient_funds);
  CHECK_EQ(backend.number("SELECT count(*) FROM job"), 0);
}

// -- upgrading ----------------------------------------------------------------

SCENARIO("failures of an older version get their fingerprints") {
  const old_database old{backend.cluster, 5};
  {
    pqxx::connection db{old.url()};
    pqxx::work tx{db};
    tx.exec("INSERT INTO reeve.job (id, job_type, target_id, run_at, outcome,"
            " error_message, finished_at) SELECT gen_random_uuid(), 'OLD', 'x',"
            " now(), (ARRAY['FAILED', 'COMPLETED'])[1 + i % 2],"
            " 'HTTP 503 after ' || i || ' ms', now()"
            " FROM generate_series(1, 2500) i");
    tx.commit();
  }
  auto factory = make_postgres_factory(old.url());
  CHECK_EQ(factory->migrate(),
           static_cast<int>(postgres_migrations().size()) - 5);
  auto groups = factory->connect()->error_groups({}, 10);
  REQUIRE_EQ(groups.size(), 1u);
  CHECK_EQ(groups[0].count, 1'250);
}

// -- factories ----------------------------------------------------------------

SCENARIO("a node's name is held by one process") {
  auto first = backend.factory->lock_node("node");
  REQUIRE(first != nullptr);
  CHECK(backend.factory->lock_node("node") == nullptr);
  CHECK(backend.factory->lock_node("another") != nullptr);
  first.reset();
  // The server notices the end of a session a moment later.
  for (int i = 0; i < 1'000 && !first; ++i)
    first = backend.factory->lock_node("node");
  CHECK(first != nullptr);
}

SCENARIO("passwords are shown nowhere") {
  auto shown = [](const std::string& url) {
    return store_factory::make(url)->masked_url();
  };
  CHECK_EQ(shown("postgresql://me:secret@host:5433/db"),
           "postgresql://me:***@host:5433/db");
  CHECK_EQ(shown("postgres://me:se%40cret@[::1]/db"),
           "postgres://me:***@[::1]/db");
  CHECK_EQ(shown("postgresql://me@host/db?password=secret&connect_timeout=3"),
           "postgresql://me@host/db?password=***&connect_timeout=3");
  CHECK_EQ(shown("postgresql://host/db?sslmode=require&sslpassword=secret"),
           "postgresql://host/db?sslmode=require&sslpassword=***");
  CHECK_EQ(shown("postgresql://me@host?user=me"),
           "postgresql://me@host?user=me");
  CHECK_EQ(shown("postgresql:///db"), "postgresql:///db");
  for (const char* url :
       {"postgresql://me:sec%zzret@host/db", "postgresql://me:secret@host:x y",
        "mysql://me:secret@host/db",
        "postgresql://me:secret@host/?nope=secret"})
    try {
      store_factory::make(url)->connect();
      FAIL("accepted " << url);
    } catch (const bad_database_url& err) {
      CHECK(std::string{err.what()}.find("sec") == std::string::npos);
    } catch (const store_unavailable& err) {
      CHECK(std::string{err.what()}.find("sec") == std::string::npos);
    }
  auto text = unavailable([] {
    store_factory::make("postgresql://me:secret@127.0.0.1:1/db")->connect();
  });
  CHECK(text.find("secret") == std::string::npos);
  CHECK(text.find("127.0.0.1") != std::string::npos);
}

END_FIXTURE_SCOPE()
