// actors/metered_actor.hpp -- an instance's own figures: how many messages, how
// long they waited, how long they took. CAF keeps such figures by type only.
#pragma once

#include "actors/messages.hpp"

#include <caf/abstract_actor.hpp>
#include <caf/actor.hpp>
#include <caf/actor_cast.hpp>
#include <caf/execution_unit.hpp>
#include <caf/telemetry/gauge.hpp>

#include <algorithm>
#include <memory>

namespace reeve {

/// Seconds, from a microsecond to four minutes. Any thread may read, also
/// while the actor hangs.
struct actor_meter {
  /// From a message's arrival in the mailbox until its handler begins.
  log_histogram wait{1e-6, 28};
  /// In the handler.
  log_histogram handling{1e-6, 28};
  /// Messages in the mailbox and in the handler.
  caf::telemetry::int_gauge depth;
};

using actor_meter_ptr = std::shared_ptr<const actor_meter>;

/// What actors that are metered have in common.
class metered {
public:
  virtual ~metered() = default;

  actor_meter_ptr meter() const noexcept {
    return meter_;
  }

protected:
  const std::shared_ptr<actor_meter> meter_ = std::make_shared<actor_meter>();
};

/// Has CAF record into the actor's own meter what it would record into the
/// metrics of the actor's type. A message costs three looks at the clock.
template <class Impl>
class metered_actor : public Impl, public metered {
public:
  using Impl::Impl;

  // Nobody has a handle before this: no message is missed.
  void launch(caf::execution_unit* host, bool lazy, bool hide) override {
    this->builtin_metrics() = {&meter_->handling.buckets(),
                               &meter_->wait.buckets(), &meter_->depth};
    this->setf(caf::abstract_actor::collects_metrics_flag);
    Impl::launch(host, lazy, hide);
  }
};

/// Of any actor; nullptr: it is not metered.
template <class Handle>
actor_meter_ptr meter_of(const Handle& x) {
  auto* actor = x ? caf::actor_cast<caf::abstract_actor*>(x) : nullptr;
  auto* found = dynamic_cast<const metered*>(actor);
  return found != nullptr ? found->meter() : nullptr;
}

/// Adds what a meter says to an actor's report.
inline void describe(const actor_meter& from, actor_report& to) {
  to.mailbox = static_cast<uint64_t>(std::max(from.depth.value(), int64_t{0}));
  to.wait = from.wait.read();
  to.handling = from.handling.read();
  to.messages = to.handling->count;
}

} // namespace reeve
