// persistence/postgres_factory.cpp -- URLs, migrations and node locks.
#include "persistence/fingerprint.hpp"
#include "persistence/migration.hpp"
#include "persistence/postgres_inspect.hpp"
#include "persistence/postgres_listen.hpp"
#include "persistence/postgres_store.hpp"
#include "persistence/uuid.hpp"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include <libpq-fe.h>

namespace reeve {

namespace {

// Arbitrary but fixed: what all nodes of a database agree on.
constexpr int64_t migration_lock = 0x7265'6576'6500'0001;

// What is in a URL unless it says otherwise. A connection whose other end
// vanished is noticed within 15 s, whether it waits or sends.
constexpr std::pair<const char*, const char*> defaults[] = {
  {"application_name", "reeve"}, {"connect_timeout", "10"},
  {"keepalives", "1"},           {"keepalives_idle", "5"},
  {"keepalives_interval", "3"},  {"keepalives_count", "3"},
  {"tcp_user_timeout", "15000"},
};

using options = std::map<std::string, std::string>;

// libpq looks at it when it connects, as if that could be tried again.
void check_ports(const options& all) {
  const auto i = all.find("port");
  if (i == all.end())
    return;
  std::istringstream list{i->second};
  for (std::string port; std::getline(list, port, ',');)
    if (port.size() > 5
        || port.find_first_not_of("0123456789") != std::string::npos
        || (!port.empty() && (std::stoi(port) < 1 || std::stoi(port) > 65535)))
      throw bad_database_url(
        "the port in the URL must be a number from 1 to 65535");
}

options parsed(const std::string& url) {
  // libpq's own message is not shown: it quotes parts of the URL, and those
  // may be of the password.
  char* message = nullptr;
  std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> list{
    PQconninfoParse(url.c_str(), &message), PQconninfoFree};
  PQfreemem(message);
  if (!list)
    throw bad_database_url(
      "database.url is not a valid PostgreSQL URL; it is "
      "postgresql://USER:PASSWORD@HOST:PORT/DATABASE?OPTION=VALUE, with "
      "reserved characters written as %XX");
  options result;
  for (const auto* x = list.get(); x->keyword; ++x)
    if (x->val)
      result[x->keyword] = x->val;
  check_ports(result);
  return result;
}

std::string conninfo_of(options all) {
  for (const auto& [key, value] : defaults)
    all.try_emplace(key, value);
  std::string result;
  for (const auto& [key, value] : all) {
    result += key + "='";
    for (auto c : value) {
      if (c == '\'' || c == '\\')
        result += '\\';
      result += c;
    }
    result += "' ";
  }
  return result;
}

// The password between user and host, and the values of query parameters that
// keep secrets.
std::string masked(std::string url) {
  const auto start = url.find("://") + 3;
  auto query = url.find('?', start);
  const auto authority =
    url.substr(start, std::min(url.find('/', start), query) - start);
  if (const auto at = authority.rfind('@'); at != std::string::npos) {
    const auto colon = authority.find(':');
    if (colon < at)
      url.replace(start + colon + 1, at - colon - 1, "***");
    query = url.find('?', start);
  }
  while (query != std::string::npos) {
    const auto name = query + 1;
    const auto equals = url.find('=', name);
    auto end = url.find('&', name);
    if (equals != std::string::npos && equals < end) {
      const auto key = url.substr(name, equals - name);
      if (key.find("pass") != std::string::npos) {
        const auto size = std::min(end, url.size()) - equals - 1;
        url.replace(equals + 1, size, "***");
        end = url.find('&', name);
      }
    }
    query = end;
  }
  return url;
}

// -- migrating ----------------------------------------------------------------

constexpr const char* record_sql = R"(
  INSERT INTO reeve.migrations (version, name, checksum) VALUES ($1, $2, $3))";

void ensure_table(pqxx::connection& db) {
  pqxx::work tx{db};
  // Looked at first: a node may run as a user that cannot create schemas.
  if (tx.exec("SELECT to_regclass('reeve.migrations') IS NULL")
        .one_row()[0]
        .as<bool>())
    tx.exec("CREATE SCHEMA IF NOT EXISTS reeve;"
            "CREATE TABLE reeve.migrations ("
            "  version integer PRIMARY KEY, name text NOT NULL,"
            "  checksum text NOT NULL,"
            "  applied_at timestamptz NOT NULL DEFAULT now())");
  tx.commit();
}

// Failures of a version that made none, also of an old node that still runs.
// What SQL cannot compute is computed here, at each start, since a node may die
// meanwhile; an index has those that are left. What somebody has locked waits
// for the next start.
void add_fingerprints(pqxx::connection& db) {
  for (;;) {
    pqxx::work tx{db};
    // Without a lock, which a read-only database would refuse.
    if (!tx.query_value<bool>(
          "SELECT EXISTS (SELECT FROM reeve.job"
          " WHERE failed_at IS NOT NULL AND fingerprint IS NULL)"))
      return;
    std::vector<int64_t> seqs;
    std::vector<std::string> fingerprints;
    for (const auto& row :
         tx.exec("SELECT seq, coalesce(error_message, '') FROM reeve.job"
                 " WHERE failed_at IS NOT NULL AND fingerprint IS NULL"
                 " LIMIT 1000 FOR UPDATE SKIP LOCKED")) {
      seqs.push_back(row[0].as<int64_t>());
      fingerprints.push_back(fingerprint_of(row[1].view()));
    }
    if (seqs.empty())
      return;
    tx.exec("UPDATE reeve.job j SET fingerprint = t.fingerprint"
            " FROM unnest($1::bigint[], $2::text[]) AS t(seq, fingerprint)"
            " WHERE j.seq = t.seq",
            pqxx::params{seqs, fingerprints});
    tx.commit();
  }
}

// Nodes of an older version may be at work, and lock in an order of their own.
int migrate_locked(pqxx::connection& db) {
  ensure_table(db);
  const auto todo =
    outstanding(postgres_migrations(), applied_postgres_migrations(db));
  for (const auto& file : todo)
    with_retries([&] {
      pqxx::work tx{db};
      tx.exec(std::string{file.sql});
      tx.exec(
        record_sql,
        pqxx::params{file.version, std::string{file.name}, file.checksum()});
      tx.commit();
    });
  return static_cast<int>(todo.size());
}

// A future that fails: the migrations did, and the first claim plans for
// itself.
std::unique_ptr<postgres_store> planned_store(const std::string& conninfo,
                                              const std::string& announcer,
                                              std::future<void> migrated) {
  auto result = std::make_unique<postgres_store>(conninfo, announcer);
  try {
    migrated.get();
  } catch (const std::future_error&) {
    return result;
  }
  result->plan_boot();
  return result;
}

// -- the factory --------------------------------------------------------------

/// How often to make sure that the session with the lock is alive.
constexpr std::chrono::seconds lock_interval{2};

// The server frees the lock when the session ends, however it ends: a thread
// takes it again after a cut, so that no second node of the name slips in.
class postgres_node_lock final : public node_lock {
public:
  postgres_node_lock(postgres_session session, const std::string& node_name)
    : session_(std::move(session)), key_("reeve node " + node_name) {
    // nop
  }

  /// False when another session has it. A session may take it repeatedly.
  bool take() {
    return session_.translated([this] {
      return pqxx::nontransaction{session_.connection()}
        .exec("SELECT pg_try_advisory_lock(hashtextextended($1, 0))",
              pqxx::params{key_})
        .one_row()[0]
        .as<bool>();
    });
  }

  void keep() {
    // Signals are the main thread's: none may end the process by way of this.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    keeper_ = std::jthread{[this](std::stop_token stop) {
      std::mutex mutex;
      std::condition_variable_any changed;
      std::unique_lock guard{mutex};
      while (!changed.wait_for(guard, stop, lock_interval,
                               [&] { return stop.stop_requested(); }))
        renew();
    }};
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

private:
  void renew() {
    try {
      take();
    } catch (const store_unavailable&) {
      try {
        session_.connect();
        take();
      } catch (const store_unavailable&) {
        // While the database is away nobody else gets the name either.
      }
    }
  }

  postgres_session session_;
  std::string key_;
  // Last: it uses the others.
  std::jthread keeper_;
};

class postgres_factory final : public store_factory {
public:
  explicit postgres_factory(const std::string& url)
    : masked_url_(masked(url)), conninfo_(postgres_conninfo(url)) {
    // nop
  }

  std::string_view backend() const override {
    return "postgresql";
  }

  std::string masked_url() const override {
    return masked_url_;
  }

  int migrate() override {
    // To connect takes most of what a start takes: the writer does so beside
    // this, and who locks the node's name goes on with this connection. It
    // plans after the migrations, since it locks the tables meanwhile.
    std::promise<void> migrated;
    if (!writer_.valid())
      writer_ = std::async(std::launch::async, planned_store, conninfo_,
                           announcer_, migrated.get_future());
    spare_.emplace(conninfo_);
    spare_->connect();
    try {
      auto& db = spare_->connection();
      // Another node may be migrating a large table.
      pqxx::nontransaction{db}.exec(
        "SET statement_timeout = 0; SET lock_timeout = 0");
      pqxx::nontransaction{db}.exec("SELECT pg_advisory_lock($1)",
                                    pqxx::params{migration_lock});
      const auto result = migrate_locked(db);
      migrated.set_value();
      add_fingerprints(db);
      pqxx::nontransaction{db}.exec("SELECT pg_advisory_unlock_all()");
      return result;
    } catch (const schema_mismatch&) {
      spare_.reset();
      throw;
    } catch (const std::exception& err) {
      // It may hold the lock.
      spare_.reset();
      throw store_unavailable("postgresql: migration failed: "
                              + message_of(err));
    }
  }

  std::unique_ptr<job_store> connect() override {
    if (std::lock_guard guard{mutex_}; writer_.valid())
      try {
        return writer_.get();
      } catch (const store_unavailable&) {
        // The server may be there by now.
      }
    return std::make_unique<postgres_store>(conninfo_, announcer_);
  }

  std::unique_ptr<wake_source> listen() override {
    return make_postgres_wake_source(conninfo_, announcer_);
  }

  std::unique_ptr<node_lock> lock_node(const std::string& node_name) override {
    if (!spare_) {
      spare_.emplace(conninfo_);
      spare_->connect();
    }
    auto result =
      std::make_unique<postgres_node_lock>(*std::move(spare_), node_name);
    spare_.reset();
    if (!result->take())
      return nullptr;
    result->keep();
    return result;
  }

private:
  std::string masked_url_;
  std::string conninfo_;
  /// Stores of a factory work for one node, which knows of its own work.
  std::string announcer_ = make_uuid();
  /// The session that migrated, until the name's lock takes it.
  std::optional<postgres_session> spare_;
  /// Readers connect in threads of their own.
  std::mutex mutex_;
  std::future<std::unique_ptr<postgres_store>> writer_;
};

} // namespace

std::string postgres_conninfo(const std::string& url) {
  return conninfo_of(parsed(url));
}

std::unique_ptr<store_factory> make_postgres_factory(const std::string& url) {
  return std::make_unique<postgres_factory>(url);
}

} // namespace reeve
