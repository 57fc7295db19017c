// tests/integration/persistence/postgres_listen.test.cpp -- who is woken by
// what other programs and nodes add, and listeners that hear nothing.
#define CAF_SUITE persistence.postgres_listen

#include "persistence/postgres_listen.hpp"
#include "persistence/postgres_store.hpp"

#include <caf/test/bdd_dsl.hpp>

#include "postgres_fixture.hpp"
#include "support/postgres_proxy.hpp"

using namespace reeve;

namespace {

using namespace std::chrono_literals;

struct fixture : postgres_fixture {
  using clock = std::chrono::steady_clock;

  /// Longer than any test.
  static constexpr auto never = 1h;
  /// Longer than any machine takes.
  static constexpr auto ages = std::chrono::milliseconds{30s};

  std::unique_ptr<wake_source> ears = backend.factory->listen();

  // A program of its own, with its transaction.
  struct program {
    explicit program(const std::string& url,
                     const char* level = "READ COMMITTED")
      : db(url), tx(db) {
      tx.exec("SET TRANSACTION ISOLATION LEVEL " + std::string{level});
    }

    void enqueue() {
      tx.exec("SELECT reeve.enqueue('SQL', 'target')");
    }

    // Goes as far as a commit does before it writes to the disk.
    void begin_commit() {
      tx.exec("SET CONSTRAINTS ALL IMMEDIATE");
    }

    pqxx::connection db;
    pqxx::work tx;
  };

  // How many announcements there were since the last call.
  class counter {
  public:
    explicit counter(const std::string& url) : db_(url) {
      db_.listen("reeve_queue", [this](pqxx::notification) { ++heard_; });
    }

    int news() {
      heard_ = 0;
      // Those of earlier commits come with its answer.
      pqxx::nontransaction{db_}.exec("SELECT 1");
      db_.get_notifs();
      return heard_;
    }

  private:
    pqxx::connection db_;
    int heard_ = 0;
  };

  void await_quiet() {
    while (ears->wait(1s)) {
      // Still looking behind an announcement.
    }
  }

  std::string by_way_of(const postgres_proxy& proxy) const {
    return "postgresql://postgres@127.0.0.1:" + std::to_string(proxy.port())
      + "/" + backend.name;
  }

  // Waits until `x` gives up; what it said.
  static std::string failure_of(wake_source& x) {
    const auto deadline = clock::now() + ages;
    return unavailable([&] {
      while (clock::now() < deadline)
        x.wait(20ms);
    });
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

// -- announcements ------------------------------------------------------------

SCENARIO("a node announces what it leaves to others, and nothing by itself") {
  counter all{backend.url};
  store->apply({{new_job()}, {new_job()}});
  std::vector<write_entry> many;
  for (int i = 0; i < 200; ++i)
    many.push_back({new_job()});
  store->apply(many);
  CHECK_EQ(all.news(), 0);
  // To others: its own listener has nothing to tell it.
  const auto other = make_postgres_factory(backend.url)->listen();
  store->announce();
  CHECK_EQ(all.news(), 1);
  CHECK(other->wait(ages));
  CHECK(!ears->wait(200ms));
}

SCENARIO("a transaction is announced once, when it is committed") {
  counter all{backend.url};
  {
    program x{backend.url};
    x.enqueue();
    x.tx.abort();
  }
  CHECK_EQ(all.news(), 0);
  program x{backend.url};
  {
    pqxx::subtransaction undone{x.tx};
    undone.exec("SELECT reeve.enqueue('SQL', 'undone')");
    undone.abort();
  }
  for (int i = 0; i < 3; ++i)
    x.enqueue();
  CHECK_EQ(all.news(), 0);
  x.tx.commit();
  CHECK_EQ(all.news(), 1);
  // Neither who undid all it added, nor the same session's next transaction.
  pqxx::work next{x.db};
  {
    pqxx::subtransaction undone{next};
    undone.exec("SELECT reeve.enqueue('SQL', 'undone')");
    undone.abort();
  }
  next.commit();
  CHECK_EQ(all.news(), 0);
  pqxx::work last{x.db};
  last.exec("SELECT reeve.enqueue('SQL', 'target')");
  last.commit();
  CHECK_EQ(all.news(), 1);
  CHECK_EQ(backend.number("SELECT count(*) FROM queue"), 4);
}

SCENARIO("of transactions that commit at the same moment one announces") {
  counter all{backend.url};
  program first{backend.url};
  program second{backend.url};
  first.enqueue();
  second.enqueue();
  first.begin_commit();
  second.tx.commit();
  CHECK_EQ(all.news(), 0);
  first.tx.commit();
  CHECK_EQ(all.news(), 1);
}

SCENARIO("nobody relies on a transaction that may still fail") {
  counter all{backend.url};
  program first{backend.url, "SERIALIZABLE"};
  program second{backend.url};
  program third{backend.url, "SERIALIZABLE"};
  for (auto* x : {&first, &second, &third}) {
    x->enqueue();
    x->begin_commit();
  }
  first.tx.abort();
  third.tx.commit();
  CHECK_EQ(all.news(), 1);
  second.tx.commit();
  CHECK_EQ(all.news(), 1);
}

SCENARIO("a listener looks until those behind an announcement are done") {
  program first{backend.url};
  program second{backend.url};
  first.enqueue();
  second.enqueue();
  first.begin_commit();
  second.begin_commit();
  first.tx.commit();
  CHECK(ears->wait(ages));
  CHECK(ears->wait(ages));
  CHECK(ears->wait(ages));
  second.tx.commit();
  // It stops only after a look that found nobody.
  CHECK(ears->wait(ages));
  await_quiet();
  CHECK_EQ(backend.number("SELECT count(*) FROM pg_locks"
                          " WHERE locktype = 'advisory' AND objsubid = 1"
                          " AND objid = 1694498819"),
           0);
}

SCENARIO("jobs that many programs add at once are all found") {
  constexpr int programs = 8;
  constexpr int each = 25;
  std::vector<std::thread> threads;
  for (int i = 0; i < programs; ++i)
    threads.emplace_back([this] {
      pqxx::connection db{backend.url};
      for (int k = 0; k < each; ++k)
        pqxx::nontransaction{db}.exec("SELECT reeve.enqueue('SQL', 'x')");
    });
  size_t found = 0;
  auto lost = false;
  for (int64_t token = 1; found < programs * each && !lost; ++token) {
    lost = !ears->wait(ages);
    found += as<claimed>(
               store->apply({{claim_write{me, types, 1'000, 30s, token}}})[0])
               .jobs.size();
  }
  for (auto& x : threads)
    x.join();
  CHECK(!lost);
  CHECK_EQ(found, static_cast<size_t>(programs * each));
}

// -- listeners that hear nothing ----------------------------------------------

SCENARIO("a healthy listener hears itself again and again") {
  auto x = make_postgres_wake_source(backend.url + "&application_name=probed",
                                     "me", {1ms, ages});
  std::string sent;
  pqxx::connection db{backend.url};
  const auto deadline = clock::now() + ages;
  auto changes = [&] {
    const auto last = pqxx::nontransaction{db}.exec(
      "SELECT query_start::text FROM pg_stat_activity"
      " WHERE application_name = 'probed'"
      " AND query LIKE 'NOTIFY reeve_probe%'");
    if (last.empty() || last[0][0].view() == sent)
      return false;
    sent = last[0][0].as<std::string>();
    return true;
  };
  for (int seen = 0; seen < 3;) {
    CHECK(!x->wait(5ms));
    if (changes())
      ++seen;
    if (clock::now() > deadline)
      FAIL("no probe was sent");
  }
  // And what it listens for.
  store->announce();
  CHECK(x->wait(ages));
}

SCENARIO("a listener whose peer vanished says so") {
  postgres_proxy proxy{backend.cluster.log_file().parent_path()};
  {
    auto healthy =
      make_postgres_wake_source(by_way_of(proxy), "me", {10ms, ages});
    store->announce();
    CHECK(healthy->wait(ages));
  }
  auto x = make_postgres_wake_source(by_way_of(proxy), "me", {10ms, 200ms});
  proxy.swallow();
  CHECK(failure_of(*x).find("listening session") != std::string::npos);
}

SCENARIO("a listener whose LISTEN was given away says so") {
  postgres_proxy proxy{backend.cluster.log_file().parent_path()};
  auto x = make_postgres_wake_source(by_way_of(proxy), "me", {10ms, 200ms});
  // As a pooler does between two clients.
  const std::string sql = "UNLISTEN *";
  proxy.run_aside(sql);
  CHECK(failure_of(*x).find("hears nothing") != std::string::npos);
}

SCENARIO("a listener whose session was ended says so") {
  const auto before = clock::now();
  auto x = make_postgres_wake_source(backend.url, "me", {never, never});
  CHECK(backend.cluster.terminate_backends(backend.name) > 0);
  unavailable([&] { x->wait(ages); });
  CHECK(clock::now() - before < ages);
}

SCENARIO("there is no listener without a server") {
  const auto text = unavailable([] {
    make_postgres_wake_source("postgresql://me:secret@127.0.0.1:1/db", "me");
  });
  CHECK(text.find("secret") == std::string::npos);
  CHECK(text.find("127.0.0.1") != std::string::npos);
}

END_FIXTURE_SCOPE()
