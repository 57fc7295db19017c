// actors/read_connection.hpp -- a store that is only read from, and comes back
// by itself. Shared by the actors that read.
#pragma once

#include "actors/messages.hpp"
#include "actors/type_ids.hpp"

#include <caf/actor_clock.hpp>
#include <caf/expected.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace reeve {

/// Makes a store of its own for whoever calls it, on any thread; may throw
/// `store_unavailable`.
using store_opener = std::function<std::unique_ptr<job_store>()>;

class read_connection {
public:
  using time_point = caf::actor_clock::time_point;

  /// Connects with the first read.
  explicit read_connection(store_opener connect);

  /// Runs one read; a connection that was lost meanwhile is made anew once.
  /// Fails with `store_unavailable`.
  template <class F>
  auto read(time_point now, F f)
    -> caf::expected<decltype(f(std::declval<job_store&>()))> {
    ++reads_;
    // A connection that died while it was idle shows only now: one more try.
    auto tries = away_ ? 1 : 2;
    while (tries-- > 0 && reconnect_if_away(now)) {
      try {
        return f(*store_);
      } catch (const store_unavailable& err) {
        lose(err.what());
      }
    }
    return caf::make_error(ec::store_unavailable, last_error_);
  }

  /// As `read`, for what may be missing: fails with `not_found`, too.
  template <class F>
  auto find(time_point now, F f) -> caf::expected<
    typename decltype(f(std::declval<job_store&>()))::value_type> {
    auto found = read(now, std::move(f));
    if (!found)
      return std::move(found.error());
    if (!*found)
      return caf::make_error(ec::not_found);
    return std::move(**found);
  }

  /// Adds what it knows to an actor's status.
  void describe(actor_report& x) const;

private:
  bool reconnect_if_away(time_point now);
  void lose(const char* why);

  store_opener connect_;
  /// Empty until it connected once.
  std::unique_ptr<job_store> store_;
  std::string last_error_;
  uint64_t reads_ = 0;
  bool away_ = true;
  /// While the database is away, reads fail at once until then.
  time_point next_try_;
};

} // namespace reeve
