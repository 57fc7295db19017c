// actors/gateway/questions.cpp -- deadlines without a timer for each.
#include "actors/gateway/questions.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace reeve {

questions::~questions() {
  if (timer_)
    timer_.dispose();
}

questions::pointer questions::of(caf::scheduled_actor* self,
                                 const alarm_actor& alarm) {
  // Brokers share the multiplexer's thread, so this needs no lock; ids, unlike
  // addresses, are not given out again.
  thread_local std::unordered_map<caf::actor_id, pointer> all;
  auto& result = all[self->id()];
  if (!result) {
    result = std::make_shared<questions>(self, alarm);
    self->attach_functor([id = self->id()] { all.erase(id); });
  }
  return result;
}

question_ptr questions::add(caf::timespan patience,
                            std::function<void(caf::error&)> give_up) {
  drop_ended();
  auto deadline = self_->clock().now() + patience;
  open_.push_back(
    std::make_shared<question>(question{deadline, std::move(give_up)}));
  auto result = open_.back();
  arm();
  return result;
}

void questions::drop_ended() {
  while (!open_.empty() && !open_.front()->give_up)
    open_.pop_front();
}

void questions::arm() {
  if (armed_ || open_.empty())
    return;
  armed_ = true;
  auto wait = std::max(open_.front()->deadline - self_->clock().now(),
                       caf::actor_clock::duration_type{0});
  timer_ = run_later(self_, alarm_, wait, [me = weak_from_this()] {
    if (auto self = me.lock())
      self->on_deadline();
  });
}

void questions::on_deadline() {
  armed_ = false;
  auto now = self_->clock().now();
  for (drop_ended(); !open_.empty() && open_.front()->deadline <= now;
       drop_ended()) {
    auto late = std::move(open_.front());
    open_.pop_front();
    auto err = caf::make_error(caf::sec::request_timeout);
    late->fail(err);
  }
  arm();
}

} // namespace reeve
