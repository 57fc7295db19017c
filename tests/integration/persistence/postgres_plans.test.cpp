// tests/integration/persistence/postgres_plans.test.cpp -- what statements cost
// a PostgreSQL server when tables are large.
#define CAF_SUITE persistence.postgres_plans

#include <caf/test/bdd_dsl.hpp>

#include <set>

#include "postgres_fixture.hpp"

using namespace reeve;

namespace {

using fixture = postgres_fixture;

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("a claim finds its jobs by index") {
  enqueue_batch_write batch;
  for (int i = 0; i < 10'000; ++i) {
    batch.jobs.push_back(new_job());
    batch.jobs.back().priority = i % 5;
  }
  get<enqueued_batch>(batch);
  pqxx::connection db{backend.url};
  pqxx::work tx{db};
  tx.exec("ANALYZE reeve.queue");
  plan_as_node(tx);
  tx.exec(std::string{"PREPARE claim AS "} + claim_statement.sql);
  std::string plan;
  for (const auto& row :
       tx.exec("EXPLAIN EXECUTE claim(10, 'a#1', 1000, 1, '{TEST,SQL}',"
               " '{10,5}', '{}')"))
    plan += row[0].as<std::string>() + '\n';
  if (plan.find("queue_claim") == std::string::npos
      || plan.find("Seq Scan on queue") != std::string::npos)
    FAIL(plan);
}

SCENARIO("a million jobs that cannot run cost a claim nothing") {
  pqxx::connection db{backend.url};
  // Later ones of the wanted type, due ones of a type that nobody lists and of
  // one that is paused. As a node does it: a client's are announced one by one.
  pqxx::nontransaction{db}.exec(R"(
    SET reeve.node = 'on';
    INSERT INTO reeve.queue (seq, job_type, priority, run_at)
    SELECT -i, (ARRAY['TEST', 'UNLISTED', 'PAUSED'])[1 + i % 3], i % 7 - 9,
      now() + CASE WHEN i % 3 = 0 THEN interval '1 hour' ELSE '-1 hour' END
    FROM generate_series(1, 1000000) i;
    ANALYZE reeve.queue)");
  types.push_back({"PAUSED", 1'000});
  get<done>(pause_write{"PAUSED", true, "maintenance"});
  auto x = add(new_job());
  add(new_job());
  // Rows that were read are counted once the session has reported them.
  pqxx::work tx{db};
  plan_as_node(tx);
  tx.exec(std::string{"PREPARE claim AS "} + claim_statement.sql);
  const auto blocks =
    blocks_of(tx,
              "EXECUTE claim(10, 'a#1', 1000, 1, '{TEST,PAUSED}',"
              " '{10,10}', '{}')");
  tx.abort();
  CHECK_LT(blocks, 500);
  auto start_time = std::chrono::steady_clock::now();
  CHECK_EQ(start().id, x.id);
  // Far from what reading a million rows takes.
  CHECK(std::chrono::steady_clock::now() - start_time
        < std::chrono::milliseconds{500});
  pqxx::nontransaction{db}.exec("DELETE FROM reeve.queue WHERE seq < 0");
}

SCENARIO("a claim goes on where another node was faster") {
  for (int i = 0; i < 30; ++i)
    add(new_job());
  pqxx::connection db{backend.url};
  pqxx::work tx{db};
  // What a claim of another node does before its commit.
  tx.exec("SELECT 1 FROM reeve.queue ORDER BY seq LIMIT 20 FOR UPDATE");
  types = {{"TEST", 3}};
  claim_write wanted{me, types, 5, std::chrono::seconds{30}, 1};
  auto got = get<claimed>(wanted);
  CHECK_EQ(got.jobs.size(), 3u);
  tx.abort();
  wanted.token = 2;
  CHECK_EQ(get<claimed>(wanted).jobs.size(), 3u);
  CHECK_EQ(backend.number("SELECT count(*) FROM queue"), 24);
}

SCENARIO("a successful end writes no index entry") {
  for (int i = 0; i < 20; ++i)
    add(new_job());
  for (int i = 0; i < 20; ++i)
    get<changed>(completion(start(i + 1)));
  store.reset();
  await_counted("job", "n_tup_upd", 20);
  CHECK_EQ(counted("job", "n_tup_hot_upd"), counted("job", "n_tup_upd"));
}

SCENARIO("statistics stay small and right") {
  for (int i = 0; i < 3; ++i)
    add(new_job());
  auto ended = start(1);
  get<changed>(completion(ended));
  pqxx::connection db{backend.url};
  pqxx::nontransaction{db}.exec(
    "INSERT INTO reeve.finished_counts"
    " SELECT 'OLD', 'FAILED', 1 FROM generate_series(1, 2000)");
  for (int i = 0; i < 2; ++i) {
    std::set<std::string> seen;
    for (const auto& x : store->stats().counts)
      seen.insert(x.type + ' ' + std::string{to_string(x.status)} + ' '
                  + std::to_string(x.count));
    CHECK_EQ(seen,
             (std::set<std::string>{"OLD FAILED 2000", "TEST COMPLETED 1",
                                    "TEST PENDING 2"}));
  }
  CHECK_EQ(backend.number("SELECT count(*) FROM finished_counts"), 2);
  pqxx::nontransaction{db}.exec("DELETE FROM reeve.job");
  for (const auto& x : store->stats().counts)
    CHECK_EQ(x.type, "OLD");
}

// -- similarity ---------------------------------------------------------------

SCENARIO("cards that are committed late or deleted are found or not") {
  pqxx::connection db{backend.url};
  auto insert = [](pqxx::transaction_base& tx, const char* summary,
                   const char* embedding) {
    tx.exec("INSERT INTO reeve.knowledge_cards (id, scrap_id, job_id, summary,"
            " tags, embedding, model) VALUES (gen_random_uuid(),"
            " gen_random_uuid(), gen_random_uuid(), $1, '{}', $2, '')",
            pqxx::params{summary, embedding});
  };
  auto found = [this] {
    card_search what;
    what.embedding = {1, 0};
    std::vector<std::string> result;
    for (const auto& x : store->similar_cards(what))
      result.push_back(x.card.summary);
    return result;
  };
  using texts = std::vector<std::string>;
  CHECK_EQ(found(), texts{});
  pqxx::connection slow{backend.url};
  pqxx::work late{slow};
  insert(late, "late", "{1,0}");
  {
    pqxx::work tx{db};
    insert(tx, "first", "{1,1}");
    insert(tx, "other dimensions", "{1,1,1}");
    insert(tx, "none", "{}");
    insert(tx, "no direction", "{0,0}");
    tx.commit();
  }
  CHECK_EQ(found(), (texts{"first", "no direction"}));
  late.commit();
  CHECK_EQ(found(), (texts{"late", "first", "no direction"}));
  CHECK_EQ(found(), (texts{"late", "first", "no direction"}));
  pqxx::nontransaction{db}.exec(
    "DELETE FROM reeve.knowledge_cards WHERE summary = 'first'");
  CHECK_EQ(found(), (texts{"late", "no direction"}));
  store->reconnect();
  CHECK_EQ(found(), (texts{"late", "no direction"}));
}

END_FIXTURE_SCOPE()
