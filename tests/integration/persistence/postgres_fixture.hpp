// tests/integration/persistence/postgres_fixture.hpp -- what the tests that
// only PostgreSQL has share.
#pragma once

#include "persistence/migration.hpp"
#include "persistence/postgres_writer.hpp"
#include "persistence/uuid.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <future>
#include <thread>

#include "answers.hpp"
#include "postgres_backend.hpp"

namespace reeve {

/// A database as a node of an older version made it.
class old_database {
public:
  old_database(postgres_cluster& cluster, size_t version)
    : cluster_(cluster), name_(cluster.create_database()) {
    pqxx::connection db{url()};
    pqxx::work tx{db};
    tx.exec("CREATE SCHEMA reeve; CREATE TABLE reeve.migrations ("
            " version integer PRIMARY KEY, name text NOT NULL,"
            " checksum text NOT NULL,"
            " applied_at timestamptz NOT NULL DEFAULT now())");
    for (const auto& file : postgres_migrations().first(version)) {
      tx.exec(std::string{file.sql});
      tx.exec(
        "INSERT INTO reeve.migrations VALUES ($1, $2, $3)",
        pqxx::params{file.version, std::string{file.name}, file.checksum()});
    }
    tx.commit();
  }

  ~old_database() {
    cluster_.drop_database(name_);
  }

  old_database(const old_database&) = delete;
  old_database& operator=(const old_database&) = delete;

  std::string url() const {
    return cluster_.url(name_);
  }

private:
  postgres_cluster& cluster_;
  std::string name_;
};

struct postgres_fixture {
  postgres_backend backend;
  std::unique_ptr<job_store> store = backend.connect();
  lease_owner me{"node-a", 1};
  std::vector<claimable_type> types{{"TEST", 1'000}, {"SQL", 1'000}};

  static enqueue_write new_job() {
    enqueue_write result;
    result.id = make_uuid();
    result.type = "TEST";
    result.target_id = "target";
    return result;
  }

  template <class Answer>
  static Answer as(write_answer x) {
    if (auto* no = std::get_if<refusal>(&x))
      FAIL("refused: " << no->message);
    auto result = answer_as<Answer>(std::move(x));
    REQUIRE(result.has_value());
    return *std::move(result);
  }

  template <class Answer>
  Answer get(reeve::write what, bool repeated = false) {
    return as<Answer>(store->apply({{std::move(what), repeated}}).at(0));
  }

  job add(enqueue_write x) {
    return get<enqueued>(std::move(x)).job;
  }

  job start(int64_t token = 1) {
    auto result =
      get<claimed>(claim_write{me, types, 1, std::chrono::seconds{30}, token});
    REQUIRE_EQ(result.jobs.size(), 1u);
    return result.jobs.front();
  }

  settle_write completion(const job& x) {
    settle_write result;
    result.claimed = std::make_shared<const job>(x);
    result.owner = me;
    result.result = {{"answer", 42}};
    return result;
  }

  template <class F>
  static std::string unavailable(F f) {
    try {
      f();
    } catch (const store_unavailable& err) {
      return err.what();
    }
    FAIL("expected store_unavailable");
    return "";
  }

  /// Plans are made as in a session of a node: once, and kept.
  static void plan_as_node(pqxx::transaction_base& tx) {
    tx.exec("SET enable_seqscan = off; SET enable_hashjoin = off;"
            " SET enable_mergejoin = off;"
            " SET plan_cache_mode = force_generic_plan");
  }

  /// How many pages a statement looks at; it is run.
  static int64_t blocks_of(pqxx::transaction_base& tx,
                           const std::string& statement) {
    std::string plan;
    for (const auto& row :
         tx.exec("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + statement))
      plan += row[0].as<std::string>();
    const auto root = nlohmann::json::parse(plan).at(0).at("Plan");
    return root.at("Shared Hit Blocks").get<int64_t>()
      + root.at("Shared Read Blocks").get<int64_t>();
  }

  /// A column of `pg_stat_user_tables`. Sessions report what they did when they
  /// end or have been idle for a while.
  int64_t counted(const std::string& table, const std::string& column) {
    return backend.number("SELECT coalesce(sum(" + column
                          + "), 0)::bigint FROM pg_stat_user_tables"
                            " WHERE relname = '"
                          + table + "'");
  }

  void await_counted(const std::string& table, const std::string& column,
                     int64_t least) {
    const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds{30};
    while (counted(table, column) < least) {
      if (std::chrono::steady_clock::now() > deadline)
        FAIL(column << " of " << table << " was not counted");
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
  }

  // Waits until a session of the store waits for a lock.
  void await_blocked() {
    await_blocked(backend.url);
  }

  static void await_blocked(const std::string& url) {
    await_session(url, "wait_event_type = 'Lock'");
  }

  static void await_session(const std::string& url,
                            const std::string& condition) {
    const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds{30};
    // One session: a new one for each look takes longer than locks may.
    pqxx::connection db{url};
    auto is_there = [&] {
      return pqxx::nontransaction{db}.query_value<bool>(
        "SELECT EXISTS (SELECT FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name = 'reeve'"
        " AND "
        + condition + ')');
    };
    while (!is_there()) {
      if (std::chrono::steady_clock::now() > deadline)
        FAIL("no session of a node has " << condition);
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
  }

  std::future<write_answer> apply_aside(std::vector<write_entry> batch) {
    return std::async(std::launch::async,
                      [this, batch] { return store->apply(batch).back(); });
  }
};

} // namespace reeve
