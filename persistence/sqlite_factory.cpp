// persistence/sqlite_factory.cpp -- opening, migrating and guarding the file.
#include "persistence/fingerprint.hpp"
#include "persistence/migration.hpp"
#include "persistence/schema.hpp"
#include "persistence/sqlite_store.hpp"

#include <sqlite3.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace reeve {

namespace {

using namespace std::literals;

// The store's data and its lock are for the node's user alone.
constexpr mode_t private_mode = 0600;

constexpr const char* create_migrations_sql = R"(
  CREATE TABLE IF NOT EXISTS migrations (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    checksum TEXT NOT NULL,
    applied_at INTEGER NOT NULL
  ))";
constexpr const char* applied_sql = R"(
  SELECT version, name, checksum FROM migrations ORDER BY version)";
constexpr const char* record_sql = R"(
  INSERT INTO migrations (version, name, checksum, applied_at)
  VALUES (?, ?, ?, ?))";

// The migration that adds the column.
constexpr int fingerprint_version = 4;
constexpr const char* unmarked_sql = R"(
  SELECT seq, coalesce(error_message, '') FROM job WHERE outcome = 'FAILED')";
constexpr const char* mark_sql = "UPDATE job SET fingerprint = ? WHERE seq = ?";

[[noreturn]] void raise_system_error(const std::string& what) {
  throw store_unavailable("sqlite: " + what + ": " + std::strerror(errno));
}

class file_descriptor {
public:
  explicit file_descriptor(int fd) : fd_(fd) {
  }
  file_descriptor(const file_descriptor&) = delete;
  file_descriptor& operator=(const file_descriptor&) = delete;
  ~file_descriptor() {
    if (fd_ >= 0)
      close(fd_);
  }

  int get() const {
    return fd_;
  }

private:
  int fd_;
};

// Closing the descriptor gives the lock back, and so does dying.
class file_lock final : public node_lock {
public:
  explicit file_lock(int fd) : file_(fd) {
  }

private:
  file_descriptor file_;
};

// Only a new file is opened here: closing a second descriptor of a file that
// SQLite has open would drop this process's locks on it.
void create_file(const std::string& path) {
  file_descriptor file{
    open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, private_mode)};
  if (file.get() < 0 && errno != EEXIST)
    raise_system_error("cannot create " + path);
}

// The change to WAL needs the file for itself, and SQLite does not wait for
// that when another process asks for the same.
void enter_wal(sqlite_connection& db) {
  const auto deadline = std::chrono::steady_clock::now() + 5s;
  for (;;) {
    try {
      db.database().execAndGet("PRAGMA journal_mode = WAL");
      return;
    } catch (const SQLite::Exception& err) {
      if (err.getErrorCode() != SQLITE_BUSY
          || std::chrono::steady_clock::now() > deadline)
        throw;
    }
    std::this_thread::sleep_for(10ms);
  }
}

std::vector<applied_migration> applied_migrations(sqlite_connection& db) {
  std::vector<applied_migration> result;
  sqlite_query query{db.prepared(applied_sql)};
  while (query.next())
    result.push_back(
      {static_cast<int>(query.integer(0)), query.text(1), query.text(2)});
  return result;
}

// What SQL cannot compute: jobs that failed before there were fingerprints.
void add_fingerprints(sqlite_connection& db) {
  sqlite_query failed{db.prepared(unmarked_sql)};
  while (failed.next()) {
    sqlite_query query{db.prepared(mark_sql)};
    query.bind(fingerprint_of(failed.text(1)), failed.integer(0)).run();
  }
}

int migrate_file(const std::string& path) {
  sqlite_connection db{path};
  enter_wal(db);
  sqlite_transaction transaction{db, "BEGIN EXCLUSIVE"};
  db.exec(create_migrations_sql);
  const auto todo = outstanding(sqlite_migrations(), applied_migrations(db));
  for (const auto& step : todo) {
    db.database().exec(std::string{step.sql});
    if (step.version == fingerprint_version)
      add_fingerprints(db);
    sqlite_query query{db.prepared(record_sql)};
    query.bind(step.version, step.name, step.checksum(), system_time()).run();
  }
  transaction.commit();
  return static_cast<int>(todo.size());
}

schema_report inspect_file(const std::string& path) {
  schema_report result;
  auto folder = std::filesystem::path{path}.parent_path();
  if (folder.empty())
    folder = ".";
  // The log and the lock stand beside the file.
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    result.problems.push_back("this user cannot write to the folder "
                              + folder.string() + ": " + std::strerror(errno));
  std::vector<applied_migration> applied;
  if (access(path.c_str(), F_OK) == 0) {
    if (access(path.c_str(), R_OK | W_OK) != 0)
      result.problems.push_back("this user cannot write to " + path + ": "
                                + std::strerror(errno));
    if (!result.problems.empty())
      return result;
    sqlite_connection db{path};
    if (db.database().tableExists("migrations"))
      applied = applied_migrations(db);
  }
  result.applied = applied.size();
  for (const auto& file : outstanding(sqlite_migrations(), applied))
    result.outstanding.emplace_back(file.name);
  return result;
}

class sqlite_factory final : public store_factory {
public:
  explicit sqlite_factory(std::string path) : path_(std::move(path)) {
  }

  std::string_view backend() const override {
    return "sqlite";
  }

  std::string masked_url() const override {
    return "sqlite:" + path_;
  }

  int migrate() override {
    create_file(path_);
    return translated([&] { return migrate_file(path_); });
  }

  std::unique_ptr<job_store> connect() override {
    return std::make_unique<sqlite_store>(path_);
  }

  // A file has one node, whatever its name.
  std::unique_ptr<node_lock> lock_node(const std::string&) override {
    const auto lock_path = path_ + ".lock";
    const auto fd =
      open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, private_mode);
    if (fd < 0)
      raise_system_error("cannot open " + lock_path);
    auto result = std::make_unique<file_lock>(fd);
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
      return result;
    if (errno != EWOULDBLOCK)
      raise_system_error("cannot lock " + lock_path);
    return nullptr;
  }

private:
  std::string path_;
};

} // namespace

schema_report inspect_sqlite(const std::string& path) {
  return translated([&] { return inspect_file(path); });
}

std::unique_ptr<store_factory> make_sqlite_factory(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos)
    throw bad_database_url("sqlite: needs a path, e.g. sqlite:./reeve.db");
  if (path == ":memory:")
    throw bad_database_url("sqlite::memory: is not supported: a job must "
                           "outlive the node; use sqlite:PATH");
  if (path.back() == '/')
    throw bad_database_url("sqlite:" + path + " names a folder, not a file");
  return std::make_unique<sqlite_factory>(path);
}

} // namespace reeve
