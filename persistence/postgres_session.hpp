// persistence/postgres_session.hpp -- one PostgreSQL connection and what its
// errors mean.
#pragma once

#include "persistence/job_store.hpp"

#include <optional>
#include <set>
#include <string>
#include <type_traits>

#include <pqxx/pqxx>

namespace reeve {

/// SQL that is prepared at its first use on each connection.
struct postgres_statement {
  const char* name;
  const char* sql;
};

/// A transaction for reading: all its statements see the same commits.
using postgres_snapshot =
  pqxx::transaction<pqxx::isolation_level::repeatable_read,
                    pqxx::write_policy::read_only>;

/// What the caller can do about an exception.
enum class postgres_failure : uint8_t {
  /// The connection or the whole server: reconnect, and look before repeating.
  unavailable,
  /// Deadlock or serialization failure: repeat the transaction.
  again,
  /// A value was refused, or what came back cannot be read: repeating is
  /// useless, and the connection is as good as before.
  refused,
  /// Another transaction holds a row or key that this one needs.
  blocked,
};

postgres_failure classify(const std::exception& err);

/// Runs `f`, a whole transaction, again while it is the victim of a deadlock or
/// of a serialization failure: the other one goes on. The eighth loss is
/// thrown.
template <class F>
auto with_retries(F f) {
  constexpr int max_tries = 8;
  for (int i = 1;; ++i) {
    try {
      return f();
    } catch (const std::exception& err) {
      if (i == max_tries || classify(err) != postgres_failure::again)
        throw;
    }
  }
}

/// The first line of the error, without the server's prefix.
std::string message_of(const std::exception& err);

/// A connection with the settings that the store relies on. Not thread-safe.
class postgres_session {
public:
  /// `conninfo` is libpq's keyword/value form. Does not connect.
  explicit postgres_session(std::string conninfo);

  /// Drops the connection, if any, and makes a new one. Throws
  /// `store_unavailable`.
  void connect();

  void close() {
    connection_.reset();
  }

  /// Throws `store_unavailable` when there is none.
  pqxx::connection& connection();

  pqxx::result run(pqxx::transaction_base& tx, const postgres_statement& what,
                   const pqxx::params& params = {});

  /// Makes the generic plan of a statement, so that its first run need not.
  void plan(pqxx::transaction_base& tx, const postgres_statement& what);

  /// Runs `f(postgres_snapshot&)`, or `f(pqxx::work&)` when it takes one, for
  /// reading. Throws `store_unavailable`.
  template <class F>
  auto read(F f) {
    return translated([&] {
      if constexpr (std::is_invocable_v<F&, postgres_snapshot&>) {
        postgres_snapshot tx{connection()};
        return f(tx);
      } else {
        pqxx::work tx{connection()};
        return f(tx);
      }
    });
  }

  /// Runs `f()`; whatever it throws leaves as `store_unavailable`, and the
  /// connection is dropped.
  template <class F>
  auto translated(F f) -> decltype(f()) {
    try {
      return f();
    } catch (const store_unavailable&) {
      throw;
    } catch (const std::exception& err) {
      close();
      throw store_unavailable("postgresql: " + message_of(err));
    }
  }

private:
  void prepare(const postgres_statement& what);

  std::string conninfo_;
  std::optional<pqxx::connection> connection_;
  std::set<const char*> prepared_;
};

} // namespace reeve
