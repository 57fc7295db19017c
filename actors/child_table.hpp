// actors/child_table.hpp -- which actors a supervisor owns, and how often each
// may be started again. Pure: time comes from outside.
#pragma once

#include "actors/metered_actor.hpp"

#include <caf/actor.hpp>
#include <caf/actor_addr.hpp>
#include <caf/actor_clock.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace reeve {

/// What a child's death means when its budget is spent.
enum class child_kind : uint8_t {
  /// The node ends.
  essential,
  /// The child is parked as degraded; its siblings go on.
  slot,
};

enum class child_state : uint8_t { running, backing_off, degraded, stopped };

struct child {
  std::string name;
  child_kind kind = child_kind::essential;
  /// Spawns the actor and hands it to whoever needs it.
  std::function<caf::actor()> start;

  caf::actor handle;
  child_state state = child_state::stopped;
  /// Of the living actor; nullptr: it is not metered.
  actor_meter_ptr meter;
  uint32_t restarts = 0;
  /// The newest ones, oldest first.
  std::deque<restart_note> history;
  /// Why an operator wants it to be started anew; until it is.
  std::optional<std::string> asked;
  std::string last_error;
  caf::actor_clock::time_point started_at;
  std::deque<caf::actor_clock::time_point> recent_deaths;
};

struct restart_budget {
  uint32_t deaths = 5;
  std::chrono::seconds window{60};
  std::chrono::milliseconds first_backoff{100};
};

/// What the supervisor does about a death.
struct death_notice {
  child* who = nullptr;
  /// Start it again after this long.
  std::optional<std::chrono::milliseconds> restart_after;
};

class child_table {
public:
  using time_point = caf::actor_clock::time_point;

  explicit child_table(restart_budget budget = {}) : budget_(budget) {
    // nop
  }

  child& add(std::string name, child_kind kind,
             std::function<caf::actor()> start);

  child* find(std::string_view name);
  child* find(const caf::actor_addr& address);

  /// Books a death. Within budget the child backs off and is to be started
  /// again, the delay doubling with each recent death; over budget a slot is
  /// degraded and an essential child is left stopped.
  death_notice on_down(const caf::actor_addr& address, std::string reason,
                       time_point now);

  /// Books that a child runs.
  void on_started(child& x, caf::actor handle, time_point now);

  /// Books that a child was started again, at an operator's wish or because it
  /// had died.
  void note_restart(child& x);

  /// An operator takes the child's deaths for settled.
  void forgive(child& x, std::string why);

  budget_left left_of(const child& x, time_point now) const;

  std::deque<child>& all() noexcept {
    return children_;
  }

private:
  restart_budget budget_;
  // A deque: references stay valid while children are added.
  std::deque<child> children_;
};

std::string_view to_string(child_state x);

} // namespace reeve
