// persistence/sqlite_connection.hpp -- one SQLite connection, its prepared
// statements and transactions, and what its errors mean.
#pragma once

#include "persistence/job.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <sqlite3.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

namespace reeve {

/// A compiled statement. SQLiteCpp's own costs more than SQLite's work in the
/// statements that run once a job.
class sqlite_statement {
public:
  /// Throws SQLite::Exception.
  sqlite_statement(SQLite::Database& db, const std::string& sql);
  sqlite_statement(const sqlite_statement&) = delete;
  sqlite_statement& operator=(const sqlite_statement&) = delete;
  ~sqlite_statement() {
    sqlite3_finalize(handle_);
  }

  sqlite3_stmt* handle() const {
    return handle_;
  }

private:
  sqlite3_stmt* handle_ = nullptr;
};

/// A prepared statement while it is in use. The destructor resets it: a SELECT
/// that is left half-way would keep its snapshot, and the log from shrinking.
class sqlite_query {
public:
  explicit sqlite_query(sqlite_statement& statement)
    : handle_(statement.handle()) {
    sqlite3_clear_bindings(handle_);
  }

  sqlite_query(const sqlite_query&) = delete;
  sqlite_query& operator=(const sqlite_query&) = delete;

  ~sqlite_query() {
    sqlite3_reset(handle_);
  }

  /// Binds the next parameters in order. A text that is no temporary is not
  /// copied: it must outlive the query.
  template <class... Ts>
  sqlite_query& bind(Ts&&... values) {
    (bind_one(values,
              std::is_lvalue_reference_v<Ts> ? SQLITE_STATIC
                                             : SQLITE_TRANSIENT),
     ...);
    return *this;
  }

  /// Binds bytes as a BLOB; they must outlive the query.
  sqlite_query& bind_blob(std::string_view bytes);

  /// Fetches the next row, if any.
  bool next() {
    const auto code = sqlite3_step(handle_);
    if (code == SQLITE_ROW)
      return true;
    if (code != SQLITE_DONE)
      raise(code);
    return false;
  }

  /// Runs a statement without rows; returns how many rows it changed.
  int run();

  bool is_null(int column) const {
    return sqlite3_column_type(handle_, column) == SQLITE_NULL;
  }
  int64_t integer(int column) const {
    return sqlite3_column_int64(handle_, column);
  }
  uint32_t count(int column) const {
    return static_cast<uint32_t>(integer(column));
  }
  std::string text(int column) const;
  timestamp time(int column) const {
    return timestamp{std::chrono::microseconds{integer(column)}};
  }
  std::optional<std::string> maybe_text(int column) const;
  std::optional<timestamp> maybe_time(int column) const;
  /// Null when the column is NULL or no JSON.
  nlohmann::json json(int column) const;
  /// The same, read when somebody looks into it.
  json_text lazy_json(int column) const;

private:
  using lifetime = sqlite3_destructor_type;

  [[noreturn]] void raise(int code) const;

  void checked(int code) const {
    if (code != SQLITE_OK)
      raise(code);
  }

  void bind_one(int64_t value, lifetime) {
    checked(sqlite3_bind_int64(handle_, ++bound_, value));
  }
  void bind_one(int32_t value, lifetime how) {
    bind_one(int64_t{value}, how);
  }
  void bind_one(uint32_t value, lifetime how) {
    bind_one(int64_t{value}, how);
  }
  void bind_one(std::string_view value, lifetime how);
  void bind_one(const std::string& value, lifetime how) {
    bind_one(std::string_view{value}, how);
  }
  void bind_one(const char* value, lifetime how) {
    bind_one(std::string_view{value}, how);
  }
  void bind_one(timestamp value, lifetime how) {
    bind_one(int64_t{value.time_since_epoch().count()}, how);
  }
  void bind_one(std::nullptr_t, lifetime) {
    checked(sqlite3_bind_null(handle_, ++bound_));
  }
  template <class T>
  void bind_one(const std::optional<T>& value, lifetime how) {
    if (value)
      bind_one(*value, how);
    else
      bind_one(nullptr, how);
  }

  sqlite3_stmt* handle_;
  int bound_ = 0;
};

/// An open database with the settings every connection of ours has. Its
/// members throw SQLite::Exception, which must not leave the store.
class sqlite_connection {
public:
  /// Opens an existing file.
  explicit sqlite_connection(const std::string& path);

  /// The prepared statement for `sql`, which must be a literal: statements are
  /// kept by its address.
  sqlite_statement& prepared(const char* sql);

  void exec(const char* sql) {
    db_.exec(sql);
  }

  int64_t last_insert_seq() const {
    return db_.getLastInsertRowid();
  }

  /// Throws `store_unavailable` when the file was deleted or replaced: what is
  /// written to it now would be lost with it.
  void check_file();

  SQLite::Database& database() {
    return db_;
  }

private:
  SQLite::Database db_;
  // After `db_`: statements go first.
  std::unordered_map<const char*, std::unique_ptr<sqlite_statement>>
    statements_;
};

/// Rolls back unless committed.
class sqlite_transaction {
public:
  /// `begin` is BEGIN, BEGIN IMMEDIATE or BEGIN EXCLUSIVE.
  sqlite_transaction(sqlite_connection& connection, const char* begin);
  sqlite_transaction(const sqlite_transaction&) = delete;
  sqlite_transaction& operator=(const sqlite_transaction&) = delete;
  ~sqlite_transaction();

  void commit();

private:
  sqlite_connection& connection_;
  bool committed_ = false;
};

/// Undoes a part of a transaction unless kept.
class sqlite_savepoint {
public:
  explicit sqlite_savepoint(sqlite_connection& connection);
  sqlite_savepoint(const sqlite_savepoint&) = delete;
  sqlite_savepoint& operator=(const sqlite_savepoint&) = delete;
  ~sqlite_savepoint();

  void keep();

private:
  sqlite_connection& connection_;
  bool kept_ = false;
};

/// True when the value is at fault (a constraint, a size), not the database.
bool is_refused_value(const SQLite::Exception& err);

/// The one place where SQLite's errors become ours.
[[noreturn]] void raise_unavailable(const SQLite::Exception& err);

/// Calls `f` and translates what it throws.
template <class F>
auto translated(F f) {
  try {
    return f();
  } catch (const SQLite::Exception& err) {
    raise_unavailable(err);
  }
}

} // namespace reeve
