// persistence/sqlite_connection.hpp -- one SQLite connection, its prepared
// statements and transactions, and what its errors mean.
#pragma once

#include "persistence/job.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace reeve {

/// A prepared statement while it is in use. The destructor resets it: a SELECT
/// that is left half-way would keep its snapshot, and the log from shrinking.
class sqlite_query {
public:
  explicit sqlite_query(SQLite::Statement& statement) : statement_(statement) {
    statement_.clearBindings();
  }

  sqlite_query(const sqlite_query&) = delete;
  sqlite_query& operator=(const sqlite_query&) = delete;

  ~sqlite_query() {
    statement_.tryReset();
  }

  /// Binds the next parameters in order.
  template <class... Ts>
  sqlite_query& bind(const Ts&... values) {
    (bind_one(values), ...);
    return *this;
  }

  /// Binds bytes as a BLOB.
  sqlite_query& bind_blob(std::string_view bytes);

  /// Fetches the next row, if any.
  bool next() {
    return statement_.executeStep();
  }

  /// Runs a statement without rows; returns how many rows it changed.
  int run() {
    return statement_.exec();
  }

  bool is_null(int column) const {
    return statement_.getColumn(column).isNull();
  }
  int64_t integer(int column) const {
    return statement_.getColumn(column).getInt64();
  }
  uint32_t count(int column) const {
    return static_cast<uint32_t>(integer(column));
  }
  std::string text(int column) const {
    return statement_.getColumn(column).getString();
  }
  timestamp time(int column) const {
    return timestamp{std::chrono::microseconds{integer(column)}};
  }
  std::optional<std::string> maybe_text(int column) const;
  std::optional<timestamp> maybe_time(int column) const;
  /// Null when the column is NULL or no JSON.
  nlohmann::json json(int column) const;

private:
  void bind_one(int64_t value) {
    statement_.bind(++bound_, value);
  }
  void bind_one(int32_t value) {
    statement_.bind(++bound_, value);
  }
  void bind_one(uint32_t value) {
    statement_.bind(++bound_, value);
  }
  void bind_one(std::string_view value);
  void bind_one(const std::string& value) {
    bind_one(std::string_view{value});
  }
  void bind_one(const char* value) {
    bind_one(std::string_view{value});
  }
  void bind_one(timestamp value) {
    bind_one(int64_t{value.time_since_epoch().count()});
  }
  void bind_one(std::nullptr_t) {
    statement_.bind(++bound_);
  }
  template <class T>
  void bind_one(const std::optional<T>& value) {
    if (value)
      bind_one(*value);
    else
      bind_one(nullptr);
  }

  SQLite::Statement& statement_;
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
  SQLite::Statement& prepared(const char* sql);

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
  std::unordered_map<const char*, std::unique_ptr<SQLite::Statement>>
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
