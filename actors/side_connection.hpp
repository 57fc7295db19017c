// actors/side_connection.hpp -- a connection beside the DB actor's, which comes
// back by itself. Shared by the actors that read and the claimer.
#pragma once

#include "actors/messages.hpp"
#include "actors/type_ids.hpp"

#include <caf/actor_clock.hpp>
#include <caf/expected.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace reeve {

/// Makes a store of its own for whoever calls it, on any thread; may throw
/// `store_unavailable`.
using store_opener = std::function<std::unique_ptr<job_store>()>;

class side_connection {
public:
  using time_point = caf::actor_clock::time_point;

  /// Connects when it is first used or prepared.
  explicit side_connection(store_opener connect);

  /// Runs `f(job_store&)`, and once more if the connection was lost: what
  /// writes has to look first then. Fails with `store_unavailable`.
  template <class F>
  auto use(time_point now, F f)
    -> caf::expected<decltype(f(std::declval<job_store&>()))> {
    ++uses_;
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

  /// Connects before somebody waits for it, and runs `f(job_store&)`; false
  /// when the store is away.
  template <class F>
  bool prepare(time_point now, F f) {
    if (!reconnect_if_away(now))
      return false;
    try {
      f(*store_);
    } catch (const store_unavailable& err) {
      lose(err.what());
    }
    return !away_;
  }

  /// As `use`, for what may be missing: fails with `not_found`, too.
  template <class F>
  auto find(time_point now, F f) -> caf::expected<
    typename decltype(f(std::declval<job_store&>()))::value_type> {
    auto found = use(now, std::move(f));
    if (!found)
      return std::move(found.error());
    if (!*found)
      return caf::make_error(ec::not_found);
    return std::move(**found);
  }

  /// Adds what it knows to an actor's status; `uses` names what it is used for.
  void describe(actor_report& x, std::string_view uses = "reads") const;

private:
  bool reconnect_if_away(time_point now);
  void lose(const char* why);

  store_opener connect_;
  /// Empty until it connected once.
  std::unique_ptr<job_store> store_;
  std::string last_error_;
  uint64_t uses_ = 0;
  bool away_ = true;
  /// While the database is away, all uses fail at once until then.
  time_point next_try_;
};

} // namespace reeve
