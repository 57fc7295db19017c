// actors/gateway/alarm.cpp -- what waits, by time; one timer for the first.
#include "actors/gateway/alarm.hpp"

namespace reeve {

alarm_state::alarm_state(alarm_actor::pointer self) : self_(self) {
  // nop
}

alarm_actor::behavior_type alarm_state::make_behavior() {
  return {
    [this](caf::tick_atom, caf::timespan delay, caf::action& what) {
      waiting_.emplace(self_->clock().now() + delay,
                       entry{self_->current_sender(), std::move(what)});
      arm();
    },
  };
}

void alarm_state::arm() {
  if (waiting_.empty())
    return;
  auto first = waiting_.begin()->first;
  if (armed_for_ && *armed_for_ <= first)
    return;
  if (armed_for_)
    timer_.dispose();
  armed_for_ = first;
  // A weak reference: a timer alone is no reason to live on.
  timer_ = self_->clock().schedule(
    first, caf::make_action([this] { ring(); }, caf::action::state::waiting),
    caf::weak_actor_ptr{self_->ctrl()});
}

void alarm_state::ring() {
  armed_for_.reset();
  auto now = self_->clock().now();
  while (!waiting_.empty() && waiting_.begin()->first <= now) {
    auto due = waiting_.extract(waiting_.begin());
    auto& [owner, what] = due.mapped();
    if (owner && !what.disposed())
      owner->enqueue(nullptr, caf::make_message_id(), caf::make_message(what),
                     self_->context());
  }
  arm();
}

} // namespace reeve
