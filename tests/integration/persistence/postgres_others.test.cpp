// tests/integration/persistence/postgres_others.test.cpp -- what other programs
// in the same database do: locks they keep, and rows they write.
#define CAF_SUITE persistence.postgres_others

#include <caf/test/bdd_dsl.hpp>

#include "postgres_fixture.hpp"

using namespace reeve;

namespace {

struct fixture : postgres_fixture {
  using clock = std::chrono::steady_clock;

  pqxx::connection db{backend.url};

  void exec(const std::string& sql) {
    pqxx::nontransaction{db}.exec(sql);
  }

  std::string code_of(const write_answer& x) {
    const auto* no = std::get_if<refusal>(&x);
    return std::string{no ? to_string(no->code) : "accepted"};
  }

  enqueue_write new_scrap_job() {
    auto result = new_job();
    result.target_id = make_uuid();
    result.new_scrap = scrap{};
    result.new_scrap->id = result.target_id;
    result.new_scrap->content = "a text";
    return result;
  }

  enqueue_write paid_job(const std::string& user, int64_t price = 10) {
    auto result = new_job();
    result.user_id = user;
    result.price = price;
    return result;
  }

  void grant(const std::string& user, int64_t amount) {
    get<granted>(grant_write{make_uuid(), user, amount, ""});
  }

  int64_t balance(const std::string& user) {
    return store->find_account(user, 0).balance;
  }

  settle_write completion_with_card(const job& x) {
    auto result = completion(x);
    knowledge_card card;
    card.id = make_uuid();
    card.scrap_id = x.target_id;
    card.job_id = x.id;
    card.summary = "a summary";
    card.embedding = {1.0f};
    card.model = "local";
    result.effects.emplace_back(std::move(card));
    return result;
  }

  settle_write failure(const job& x) {
    auto result = completion(x);
    result.outcome = run_outcome::failed;
    result.decision = verdict::fail;
    result.error = "an error";
    return result;
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

// -- locks that somebody keeps ------------------------------------------------

SCENARIO("a lock that somebody keeps costs only the writes that need it") {
  add(new_scrap_job());
  const auto running = start();
  exec("UPDATE reeve.running SET lease_until = now() + interval '1 s'");
  pqxx::work tx{db};
  tx.exec("SELECT 1 FROM reeve.scraps FOR UPDATE");
  const auto end = completion_with_card(running);
  const auto added = new_job();
  auto apply = [&] {
    const auto started = clock::now();
    auto answers =
      store->apply({{added, true}, {heartbeat_write{me}}, {end, true}});
    CHECK_EQ(code_of(answers[0]), "accepted");
    CHECK_EQ(as<renewed>(answers[1]).leases.size(), 1u);
    CHECK_EQ(code_of(answers[2]), "blocked");
    return clock::now() - started;
  };
  CHECK_LT(apply(), std::chrono::seconds{10});
  CHECK(store->find_job(added.id).has_value());
  CHECK_EQ(backend.number("SELECT count(*) FROM running WHERE lease_until >"
                          " now() + interval '20 s'"),
           1);
  // Who asks again while the lock is there holds nobody up any more.
  CHECK_LT(apply(), std::chrono::seconds{10});
  tx.abort();
  CHECK(get<changed>(end, true).job.status == job_status::completed);
  CHECK_EQ(backend.number("SELECT count(*) FROM knowledge_cards"), 1);
}

SCENARIO("a lock on one run costs the other runs no lease") {
  add(new_job());
  add(new_job());
  const auto first = start(1);
  start(2);
  exec("UPDATE reeve.running SET lease_until = now() + interval '1 s'");
  pqxx::work tx{db};
  tx.exec("SELECT 1 FROM reeve.running WHERE seq = " + std::to_string(first.seq)
          + " FOR UPDATE");
  CHECK_EQ(get<renewed>(heartbeat_write{me}).leases.size(), 2u);
  CHECK_EQ(backend.number("SELECT count(*) FROM running WHERE lease_until >"
                          " now() + interval '20 s'"),
           1);
  const auto answers =
    store->apply({{progress_write{first.seq, first.run, 50, "half"}},
                  {step_write{first.seq, first.run, {}, {}}},
                  {cancel_write{first.id}},
                  {failure(first)}});
  // A step without a name is refused before anything is asked.
  CHECK_EQ(code_of(answers[0]), "blocked");
  CHECK_EQ(code_of(answers[1]), "invalid_argument");
  CHECK_EQ(code_of(answers[2]), "conflict");
  CHECK_EQ(code_of(answers[3]), "blocked");
  tx.abort();
  get<changed>(failure(first));
}

SCENARIO("many writes that need one lock do not wait one after the other") {
  enqueue_batch_write batch;
  for (int i = 0; i < 60; ++i)
    batch.jobs.push_back(new_job());
  get<enqueued_batch>(batch);
  auto jobs =
    get<claimed>(claim_write{me, types, 60, std::chrono::seconds{30}, 1}).jobs;
  pqxx::work tx{db};
  tx.exec("SELECT 1 FROM reeve.running FOR UPDATE");
  std::vector<write_entry> ends;
  for (const auto& x : jobs)
    ends.push_back({completion(x)});
  const auto started = clock::now();
  for (const auto& x : store->apply(ends))
    CHECK_EQ(code_of(x), "blocked");
  CHECK_LT(clock::now() - started, std::chrono::seconds{20});
}

SCENARIO("a batch locks all accounts before anything else") {
  grant("a", 10);
  grant("b", 10);
  add(paid_job("a"));
  const auto running = start();
  pqxx::work tx{db};
  tx.exec("SELECT 1 FROM reeve.accounts WHERE user_id = 'a' FOR UPDATE");
  auto aside = apply_aside({{paid_job("b")}, {failure(running)}});
  await_blocked();
  // Neither what comes later in the order nor the run is held meanwhile.
  tx.exec("SELECT 1 FROM reeve.running FOR UPDATE NOWAIT");
  tx.exec("SELECT 1 FROM reeve.accounts WHERE user_id = 'b' FOR UPDATE NOWAIT");
  tx.abort();
  CHECK_EQ(code_of(aside.get()), "accepted");
  CHECK_EQ(balance("a"), 10);
  CHECK_EQ(balance("b"), 0);
}

SCENARIO("the store repeats a batch that was the victim of a deadlock") {
  grant("a", 10);
  grant("b", 10);
  exec("SET deadlock_timeout = '1min'");
  pqxx::work tx{db};
  tx.exec("SELECT 1 FROM reeve.accounts WHERE user_id = 'b' FOR UPDATE");
  auto aside = apply_aside({{paid_job("a")}, {paid_job("b")}});
  await_blocked();
  // Waits for the store, which notices and gives way.
  tx.exec("SELECT 1 FROM reeve.accounts WHERE user_id = 'a' FOR UPDATE");
  tx.commit();
  CHECK_EQ(code_of(aside.get()), "accepted");
  CHECK_EQ(balance("a"), 0);
  CHECK_EQ(balance("b"), 0);
}

// -- what others write --------------------------------------------------------

SCENARIO("a payload that cannot be read stops nobody") {
  exec("SELECT reeve.enqueue('SQL', 'one', '{\"x\": 1e400}', -1)");
  exec("SELECT reeve.enqueue('SQL', 'two', '{\"x\": 1}')");
  auto got =
    get<claimed>(claim_write{me, types, 5, std::chrono::seconds{30}, 1}).jobs;
  REQUIRE_EQ(got.size(), 2u);
  CHECK(got[0].payload.is_null());
  CHECK_EQ(got[1].payload->dump(), R"({"x":1})");
  CHECK_EQ(store->list_jobs({}).size(), 2u);
  CHECK(get<changed>(completion(got[0])).job.status == job_status::completed);
}

SCENARIO("a row that cannot be read costs the others nothing") {
  add(new_scrap_job());
  auto end = completion_with_card(start());
  get<changed>(end);
  const auto scrap_id = end.claimed->target_id;
  exec("INSERT INTO reeve.knowledge_cards (id, scrap_id, job_id, summary, tags,"
       " embedding, model) VALUES (gen_random_uuid(), '"
       + scrap_id
       + "', gen_random_uuid(), 'x', ARRAY[NULL]::text[], ARRAY[NULL]::real[],"
         " 'x')");
  CHECK_EQ(store->cards_of_scrap(scrap_id, 9).size(), 1u);
  exec("UPDATE reeve.job SET throttled = -1");
  CHECK_EQ(store->find_job(end.claimed->id)->unspent.throttled, 0u);
}

SCENARIO("what no server said is no loss of the connection") {
  CHECK(classify(std::out_of_range{"x"}) == postgres_failure::refused);
  CHECK(classify(pqxx::conversion_error{"x"}) == postgres_failure::refused);
  CHECK(classify(pqxx::broken_connection{"x"})
        == postgres_failure::unavailable);
  CHECK(classify(store_unavailable{"x"}) == postgres_failure::unavailable);
}

SCENARIO("priorities from SQL are within what the API takes") {
  for (const char* priority : {"1001", "-1001", "2147483647"})
    CHECK_THROWS_AS(exec("SELECT reeve.enqueue('SQL', 'x', priority => "
                         + std::string{priority} + ")"),
                    pqxx::check_violation);
  exec("SELECT reeve.enqueue('SQL', 'x', priority => 1000)");
  CHECK_THROWS_AS(exec("UPDATE reeve.queue SET priority = 1001"),
                  pqxx::check_violation);
}

SCENARIO("reads see one moment") {
  auto level = [&](pqxx::transaction_base& tx) {
    return tx.exec("SHOW transaction_isolation").one_row()[0].as<std::string>()
      + tx.exec("SHOW transaction_read_only").one_row()[0].as<std::string>();
  };
  postgres_snapshot tx{db};
  CHECK_EQ(level(tx), "repeatable readon");
  tx.exec("SELECT 1 FROM reeve.job");
  add(new_job());
  CHECK(tx.exec("SELECT 1 FROM reeve.job").empty());
}

// -- money --------------------------------------------------------------------

SCENARIO("a retry takes nothing while the earlier price is still taken") {
  grant("user", 15);
  const auto x = add(paid_job("user"));
  // As an older version or a person may have ended it.
  {
    pqxx::work tx{db};
    tx.exec("DELETE FROM reeve.queue");
    tx.exec("UPDATE reeve.job SET outcome = 'FAILED', finished_at = now(),"
            " fingerprint = 'x'");
    tx.commit();
  }
  CHECK_EQ(balance("user"), 5);
  get<changed>(retry_write{x.id});
  CHECK_EQ(balance("user"), 5);
  get<changed>(failure(start()));
  CHECK_EQ(balance("user"), 15);
  CHECK_EQ(
    as<bulk_retried>(store->apply({{bulk_retry_write{}}}).at(0)).jobs.size(),
    1u);
  CHECK_EQ(balance("user"), 5);
}

// -- old nodes ----------------------------------------------------------------

SCENARIO("failures of an old node get their fingerprints at the next start") {
  add(new_job());
  get<changed>(failure(start()));
  exec("UPDATE reeve.job SET fingerprint = NULL");
  add(new_job());
  get<changed>(failure(start(2)));
  CHECK_EQ(backend.factory->migrate(), 0);
  const auto groups = store->error_groups({}, 10);
  REQUIRE_EQ(groups.size(), 1u);
  CHECK_EQ(groups[0].count, 2);
  exec("UPDATE reeve.job SET fingerprint = NULL WHERE seq = 1");
  // What is locked waits for another start, and holds this one up by nothing.
  pqxx::work tx{db};
  tx.exec("SELECT 1 FROM reeve.job FOR UPDATE");
  CHECK_EQ(backend.factory->migrate(), 0);
  CHECK_EQ(store->error_groups({}, 10).at(0).count, 1);
}

SCENARIO("priorities of an older version are brought within the bounds") {
  const old_database old{backend.cluster, 9};
  {
    pqxx::connection other{old.url()};
    pqxx::work tx{other};
    for (const char* priority : {"-5000", "7", "5000"})
      tx.exec("SELECT reeve.enqueue('TEST', 'x', priority => "
              + std::string{priority} + ")");
    tx.commit();
  }
  auto factory = make_postgres_factory(old.url());
  factory->migrate();
  auto other = factory->connect();
  auto got = as<claimed>(
    other->apply({{claim_write{me, types, 9, std::chrono::seconds{30}, 1}}})
      .at(0));
  REQUIRE_EQ(got.jobs.size(), 3u);
  CHECK_EQ(got.jobs[0].priority, -1'000);
  CHECK_EQ(got.jobs[1].priority, 7);
  CHECK_EQ(got.jobs[2].priority, 1'000);
  for (const auto& x : got.jobs)
    as<changed>(other->apply({{completion(x)}}).at(0));
}

SCENARIO("a migration that is the victim of a deadlock is repeated") {
  const old_database old{backend.cluster, 9};
  pqxx::connection other{old.url()};
  // The migration looks for a deadlock once, when it has waited so long.
  pqxx::nontransaction{other}.exec("ALTER DATABASE "
                                   + std::string{other.dbname()}
                                   + " SET deadlock_timeout = '5s'");
  pqxx::nontransaction{other}.exec("SET deadlock_timeout = '1min'");
  auto factory = make_postgres_factory(old.url());
  // Ends after the transaction, however that ends.
  std::future<int> migrations;
  pqxx::work tx{other};
  // Nobody may even read it.
  tx.exec("LOCK TABLE reeve.running IN ACCESS EXCLUSIVE MODE");
  migrations =
    std::async(std::launch::async, [&] { return factory->migrate(); });
  await_blocked(old.url());
  AND("the node's other session has done nothing but to say how it works") {
    await_session(old.url(), "state = 'idle' AND query LIKE '%reeve.node%'");
  }
  // Waits for the migration, which has this table already and waits for the
  // other one; the migration notices and gives way.
  tx.exec("LOCK TABLE reeve.job IN ROW EXCLUSIVE MODE");
  tx.commit();
  CHECK_EQ(migrations.get(),
           static_cast<int>(postgres_migrations().size()) - 9);
}

END_FIXTURE_SCOPE()
