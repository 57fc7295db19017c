// actors/scheduler.hpp -- wakes the supervisor when a waiting job comes due.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/metered_actor.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <optional>

namespace reeve {

/// Whom to wake; the supervisor in production.
using wakeable_actor = caf::typed_actor<caf::result<void>(wake_atom)>;

struct scheduler_options {
  /// Looks for work that nothing announced this often.
  caf::timespan poll_interval = std::chrono::seconds{5};
};

class scheduler_state {
public:
  static constexpr const char* name = "reeve.scheduler";

  scheduler_state(scheduler_actor::pointer self, wakeable_actor target,
                  scheduler_options options);

  scheduler_actor::behavior_type make_behavior();

private:
  void due_in(std::chrono::milliseconds delay);
  void arm_poll();

  scheduler_actor::pointer self_;
  wakeable_actor target_;
  scheduler_options options_;
  std::optional<caf::actor_clock::time_point> next_;
  /// Timers cannot be recalled: a tick of an older generation is ignored.
  int64_t generation_ = 0;
  uint64_t wake_ups_ = 0;
};

using scheduler_impl =
  metered_actor<scheduler_actor::stateful_impl<scheduler_state>>;

} // namespace reeve
