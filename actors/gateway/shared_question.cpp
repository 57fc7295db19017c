// actors/gateway/shared_question.cpp -- who asks, and when.
#include "actors/gateway/shared_question.hpp"

#include <algorithm>

namespace reeve {

shared_question::ticket shared_question::try_ask(time_point now) {
  if (now < due_ || !asker_.expired())
    return nullptr;
  if (now >= due_ + 2 * spacing)
    is_fresh_ = false;
  auto result = std::make_shared<const time_point>(now);
  asker_ = result;
  // Holds when the asker goes away: what took long may do so again.
  due_ = now + pause_;
  return result;
}

void shared_question::answered(const ticket& mine, time_point now) {
  is_fresh_ = true;
  pause(mine, share_ * (now - *mine));
}

void shared_question::failed(const ticket& mine, time_point now,
                             bool timed_out) {
  is_fresh_ = is_fresh_ && timed_out;
  pause(mine, now - *mine + (timed_out ? rest : spacing));
}

void shared_question::pause(const ticket& mine, caf::timespan time) {
  asker_.reset();
  pause_ = std::max<caf::timespan>(spacing, time);
  due_ = *mine + pause_;
}

} // namespace reeve
