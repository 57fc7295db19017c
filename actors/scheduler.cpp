// actors/scheduler.cpp -- one timer for the earliest due job. Delays come from
// the store's clock, waiting is by the steady one.
#include "actors/scheduler.hpp"

#include <algorithm>
#include <utility>

namespace reeve {

scheduler_state::scheduler_state(scheduler_actor::pointer self,
                                 wakeable_actor target,
                                 scheduler_options options)
  : self_(self), target_(std::move(target)), options_(options) {
  // nop
}

scheduler_actor::behavior_type scheduler_state::make_behavior() {
  arm_poll();
  return {
    [this](status_atom) {
      actor_report result;
      result.state = next_ ? "waiting" : "idle";
      result.mailbox = self_->mailbox().size();
      result.counts = {{"wake_ups", wake_ups_}};
      return result;
    },
    [this](due_atom, int64_t milliseconds) {
      due_in(std::chrono::milliseconds{milliseconds});
    },
    [this](caf::tick_atom, int64_t generation) {
      if (generation != generation_)
        return;
      next_.reset();
      ++wake_ups_;
      self_->send(target_, wake_atom_v);
    },
    [this](wake_atom) {
      ++wake_ups_;
      self_->send(target_, wake_atom_v);
      arm_poll();
    },
  };
}

void scheduler_state::due_in(std::chrono::milliseconds delay) {
  // A far timer is armed again by the poll; a day keeps its arithmetic safe.
  delay = std::clamp(delay, std::chrono::milliseconds{0},
                     std::chrono::milliseconds{std::chrono::hours{24}});
  auto at = self_->clock().now() + delay;
  if (next_ && *next_ <= at)
    return;
  next_ = at;
  self_->delayed_send(self_, delay, caf::tick_atom_v, ++generation_);
}

void scheduler_state::arm_poll() {
  self_->delayed_send(self_, options_.poll_interval, wake_atom_v);
}

} // namespace reeve
