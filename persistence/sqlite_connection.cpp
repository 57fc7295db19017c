// persistence/sqlite_connection.cpp -- settings, statements, transactions.
#include "persistence/sqlite_connection.hpp"

#include "persistence/job_store.hpp"

namespace reeve {

namespace {

constexpr int busy_timeout_ms = 5'000;

// LIKE as PostgreSQL has it; the log is cut back to 64 MiB after a burst. What
// is deleted is overwritten where that costs no write of its own. The cache
// holds what a batch of a few thousand writes touches; of reads, the system
// keeps the pages.
constexpr const char* settings = R"(
  PRAGMA foreign_keys = ON;
  PRAGMA synchronous = FULL;
  PRAGMA case_sensitive_like = ON;
  PRAGMA journal_size_limit = 67108864;
  PRAGMA wal_autocheckpoint = 4000;
  PRAGMA secure_delete = FAST;
  PRAGMA cache_size = -8192;
)";

// Nobody asks SQLite how much memory it has, and to know that it takes a lock
// for each piece. Goes before anything else does with SQLite, else it is left
// as it is.
const std::string& with_library(const std::string& path) {
  static const auto ignored = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  static_cast<void>(ignored);
  return path;
}

} // namespace

// -- sqlite_statement ---------------------------------------------------------

sqlite_statement::sqlite_statement(SQLite::Database& db,
                                   const std::string& sql) {
  auto* handle = db.getHandle();
  const auto code =
    sqlite3_prepare_v3(handle, sql.c_str(), static_cast<int>(sql.size()),
                       SQLITE_PREPARE_PERSISTENT, &handle_, nullptr);
  if (code != SQLITE_OK)
    throw SQLite::Exception(handle, code);
}

// -- sqlite_query -------------------------------------------------------------

void sqlite_query::raise(int code) const {
  throw SQLite::Exception(sqlite3_db_handle(handle_), code);
}

int sqlite_query::run() {
  while (next()) {
    // nop
  }
  return sqlite3_changes(sqlite3_db_handle(handle_));
}

sqlite_query& sqlite_query::bind_blob(std::string_view bytes) {
  // A null pointer would bind NULL.
  const auto* data = bytes.empty() ? "" : bytes.data();
  checked(
    sqlite3_bind_blob64(handle_, ++bound_, data, bytes.size(), SQLITE_STATIC));
  return *this;
}

void sqlite_query::bind_one(std::string_view value, lifetime how) {
  const auto* data = value.empty() ? "" : value.data();
  checked(sqlite3_bind_text64(handle_, ++bound_, data, value.size(), how,
                              SQLITE_UTF8));
}

std::string sqlite_query::text(int column) const {
  // In this order: the size is that of the bytes which are asked for.
  const void* data = sqlite3_column_blob(handle_, column);
  const auto size = sqlite3_column_bytes(handle_, column);
  return {static_cast<const char*>(data), static_cast<size_t>(size)};
}

std::optional<std::string> sqlite_query::maybe_text(int column) const {
  if (is_null(column))
    return std::nullopt;
  return text(column);
}

std::optional<timestamp> sqlite_query::maybe_time(int column) const {
  if (is_null(column))
    return std::nullopt;
  return time(column);
}

nlohmann::json sqlite_query::json(int column) const {
  if (is_null(column))
    return nullptr;
  auto result = nlohmann::json::parse(text(column), nullptr, false);
  return result.is_discarded() ? nlohmann::json(nullptr) : result;
}

json_text sqlite_query::lazy_json(int column) const {
  if (is_null(column))
    return {};
  return json_text::from_text(text(column));
}

// -- sqlite_connection --------------------------------------------------------

sqlite_connection::sqlite_connection(const std::string& path)
  : db_(with_library(path), SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX,
        busy_timeout_ms) {
  db_.exec(settings);
  // SQLite opens lazily: what is wrong with the file shows here.
  db_.execAndGet("SELECT count(*) FROM sqlite_master");
}

sqlite_statement& sqlite_connection::prepared(const char* sql) {
  auto& result = statements_[sql];
  if (!result)
    result = std::make_unique<sqlite_statement>(db_, sql);
  return *result;
}

void sqlite_connection::check_file() {
  int moved = 0;
  sqlite3_file_control(db_.getHandle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (moved != 0)
    throw store_unavailable("the database file was deleted or replaced");
}

// -- sqlite_transaction -------------------------------------------------------

namespace {

// Some errors (disk full, I/O) have rolled back already.
void roll_back(sqlite_connection& connection) {
  auto* db = connection.database().getHandle();
  if (sqlite3_get_autocommit(db) == 0)
    sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
}

} // namespace

sqlite_transaction::sqlite_transaction(sqlite_connection& connection,
                                       const char* begin)
  : connection_(connection) {
  try {
    connection_.exec(begin);
  } catch (...) {
    // A BEGIN may fail after it has begun.
    roll_back(connection_);
    throw;
  }
}

sqlite_transaction::~sqlite_transaction() {
  if (!committed_)
    roll_back(connection_);
}

void sqlite_transaction::commit() {
  connection_.exec("COMMIT");
  committed_ = true;
}

// -- sqlite_savepoint ---------------------------------------------------------

sqlite_savepoint::sqlite_savepoint(sqlite_connection& connection)
  : connection_(connection) {
  connection_.exec("SAVEPOINT one_write");
}

sqlite_savepoint::~sqlite_savepoint() {
  if (!kept_)
    sqlite3_exec(connection_.database().getHandle(),
                 "ROLLBACK TO one_write; RELEASE one_write", nullptr, nullptr,
                 nullptr);
}

void sqlite_savepoint::keep() {
  connection_.exec("RELEASE one_write");
  kept_ = true;
}

// -- errors -------------------------------------------------------------------

bool is_refused_value(const SQLite::Exception& err) {
  switch (err.getErrorCode() & 0xff) {
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
      return true;
    default:
      return false;
  }
}

void raise_unavailable(const SQLite::Exception& err) {
  throw store_unavailable(std::string{"sqlite: "} + err.what() + " ("
                          + std::to_string(err.getExtendedErrorCode()) + ")");
}

} // namespace reeve
