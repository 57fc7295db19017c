// actors/supervisor_lanes.cpp -- what the gates tell, and what opens and closes
// by an operator's hand.
#include "actors/supervisor.hpp"

#include <caf/send.hpp>

#include <algorithm>
#include <utility>

namespace reeve {

void supervisor_state::on_lane(lane_report& x) {
  auto* gate = find_gate(x.name);
  if (gate == nullptr)
    return;
  if (x.state == lane_state::probing && gate->last.state != x.state)
    gate->probing_since = self_->clock().now();
  gate->last = std::move(x);
  look_for_work();
}

caf::result<void> supervisor_state::give_permit_back(permit_return& x) {
  auto* gate = find_gate(x.lane);
  // A gate that died meanwhile has forgotten the permit anyway.
  if (gate == nullptr || !gate->handle)
    return caf::unit;
  return self_->delegate(gate->handle, std::move(x));
}

caf::result<done> supervisor_state::pause(pause_write& x) {
  if (!db_)
    return caf::make_error(ec::store_unavailable, "the actor is restarting");
  auto promise = self_->make_response_promise<done>();
  auto finish = [this, promise, resumed = !x.paused](const done&) mutable {
    promise.deliver(done{});
    // Nothing else announces the jobs that waited.
    if (resumed)
      look_for_work();
  };
  auto fail = [promise](caf::error& err) mutable {
    promise.deliver(std::move(err));
  };
  self_->request(db_, options_.write_timeout, std::move(x))
    .then(std::move(finish), std::move(fail));
  return promise;
}

supervisor_state::gate_slot* supervisor_state::find_gate(
  const std::string& lane) {
  auto is_it = [&](const gate_slot& x) { return x.lane == lane; };
  auto i = std::find_if(gates_.begin(), gates_.end(), is_it);
  return i != gates_.end() ? &*i : nullptr;
}

const supervisor_state::gate_slot* supervisor_state::find_gate(
  const std::string& lane) const {
  return const_cast<supervisor_state*>(this)->find_gate(lane);
}

} // namespace reeve
