// persistence/postgres_session.cpp -- connecting, preparing, translating.
#include "persistence/postgres_session.hpp"

#include <algorithm>
#include <charconv>

namespace reeve {

namespace {

// Every statement of the store finds its rows by key. Plans are cached, and
// one that was made while a table was empty must not scan it an hour later:
// so scans and hash joins cost too much ever to win where an index is there.
// (Compiling a plan because of that cost would take longer than to run it.)
// Locks are waited for longer than `deadlock_timeout` (1 s): a deadlock must
// be found as one, since it is cured by a repeat, before it looks like a
// transaction that somebody keeps open.
// The server, too, notices a node that vanished: it keeps the node's name until
// then. Sessions of nodes announce by themselves what they add.
// What is acknowledged is on disk, whatever the server's default; who waits for
// standbys, too, goes on doing so.
constexpr const char* settings_sql = R"(
  SELECT set_config('synchronous_commit', 'on', false)
  WHERE current_setting('synchronous_commit') = 'off';
  SET client_encoding = 'UTF8';
  SET standard_conforming_strings = on;
  SET search_path = reeve, pg_catalog;
  SET TimeZone = 'UTC';
  SET DateStyle = 'ISO, YMD';
  SET max_parallel_workers_per_gather = 0;
  SET statement_timeout = '30s';
  SET lock_timeout = '1500ms';
  SET idle_in_transaction_session_timeout = '60s';
  SET default_transaction_isolation = 'read committed';
  SET client_min_messages = warning;
  SET jit = off;
  SET enable_seqscan = off;
  SET enable_hashjoin = off;
  SET enable_mergejoin = off;
  SET tcp_keepalives_idle = 5;
  SET tcp_keepalives_interval = 3;
  SET tcp_keepalives_count = 3;
  SET tcp_user_timeout = 15000;
  SET reeve.node = 'on')";

// Whether an exception that is no error of SQL comes from the connection, and
// not from a value that could not be sent or read.
bool is_about_the_connection(const std::exception& err) {
  return dynamic_cast<const pqxx::failure*>(&err)
    || dynamic_cast<const pqxx::usage_error*>(&err)
    || dynamic_cast<const pqxx::internal_error*>(&err)
    || dynamic_cast<const store_unavailable*>(&err);
}

// The highest $N.
int parameters_of(std::string_view sql) {
  int result = 0;
  for (auto i = sql.find('$'); i != std::string_view::npos;
       i = sql.find('$', i + 1)) {
    int number = 0;
    std::from_chars(sql.data() + i + 1, sql.data() + sql.size(), number);
    result = std::max(result, number);
  }
  return result;
}

} // namespace

postgres_failure classify(const std::exception& err) {
  if (dynamic_cast<const pqxx::broken_connection*>(&err)
      || dynamic_cast<const pqxx::in_doubt_error*>(&err)
      || dynamic_cast<const pqxx::statement_completion_unknown*>(&err))
    return postgres_failure::unavailable;
  if (dynamic_cast<const pqxx::transaction_rollback*>(&err))
    return postgres_failure::again;
  const auto* sql_err = dynamic_cast<const pqxx::sql_error*>(&err);
  if (!sql_err)
    return is_about_the_connection(err) ? postgres_failure::unavailable
                                        : postgres_failure::refused;
  const std::string_view state = sql_err->sqlstate();
  if (state == "55P03") // lock_not_available
    return postgres_failure::blocked;
  const auto group = state.substr(0, 2);
  // Cardinality, data, integrity constraint, program limit.
  if (group == "21" || group == "22" || group == "23" || group == "54")
    return postgres_failure::refused;
  // Everything else is about the server or the connection: resources (53),
  // shutdown and timeouts (57), I/O (58), read-only (25006), the schema (42).
  return postgres_failure::unavailable;
}

std::string message_of(const std::exception& err) {
  std::string_view text = err.what();
  for (std::string_view severity : {"ERROR:", "FATAL:", "PANIC:"})
    if (auto i = text.find(severity); i != std::string_view::npos) {
      text.remove_prefix(i + severity.size());
      break;
    }
  text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
  text = text.substr(0, text.find('\n'));
  // Where libpqxx noticed it.
  return std::string{text.substr(0, text.find(" [line "))};
}

postgres_session::postgres_session(std::string conninfo)
  : conninfo_(std::move(conninfo)) {
  // nop
}

void postgres_session::connect() {
  translated([this] {
    close();
    prepared_.clear();
    connection_.emplace(conninfo_.c_str());
    pqxx::nontransaction{*connection_}.exec(settings_sql);
  });
}

pqxx::connection& postgres_session::connection() {
  if (!connection_)
    throw store_unavailable("postgresql: not connected");
  return *connection_;
}

pqxx::result postgres_session::run(pqxx::transaction_base& tx,
                                   const postgres_statement& what,
                                   const pqxx::params& params) {
  prepare(what);
  return tx.exec(pqxx::prepped{what.name}, params);
}

void postgres_session::plan(pqxx::transaction_base& tx,
                            const postgres_statement& what) {
  prepare(what);
  const auto parameters = parameters_of(what.sql);
  std::string values;
  for (int i = 0; i < parameters; ++i)
    values += i == 0 ? "(NULL" : ", NULL";
  if (parameters > 0)
    values += ')';
  tx.exec("EXPLAIN EXECUTE " + std::string{what.name} + values);
}

void postgres_session::prepare(const postgres_statement& what) {
  if (prepared_.contains(what.name))
    return;
  connection().prepare(what.name, what.sql);
  prepared_.insert(what.name);
}

} // namespace reeve
