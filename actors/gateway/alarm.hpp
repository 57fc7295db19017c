// actors/gateway/alarm.hpp -- one timer for all connections. CAF's clock sorts
// all its timers whenever one is added: ten thousand of them, one a watcher,
// would keep a core busy.
#pragma once

#include "actors/type_ids.hpp"

#include <caf/action.hpp>
#include <caf/actor_clock.hpp>
#include <caf/disposable.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/send.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <map>
#include <optional>
#include <utility>

namespace reeve {

/// An ALARM: keeps what others want to do later.
using alarm_actor = caf::typed_actor<
  // Hands the action back to the sender after that time. As with CAF's timers,
  // whoever waits is kept: a broker whose socket is closed has nothing else.
  caf::result<void>(caf::tick_atom, caf::timespan, caf::action)>;

class alarm_state {
public:
  static constexpr const char* name = "reeve.alarm";

  explicit alarm_state(alarm_actor::pointer self);

  alarm_actor::behavior_type make_behavior();

private:
  using time_point = caf::actor_clock::time_point;

  struct entry {
    caf::strong_actor_ptr owner;
    caf::action what;
  };

  void arm();
  void ring();

  alarm_actor::pointer self_;
  std::multimap<time_point, entry> waiting_;
  caf::disposable timer_;
  std::optional<time_point> armed_for_;
};

/// Ends when nobody can ask it any more. To be spawned `caf::hidden`: it must
/// not keep the actor system waiting.
using alarm_impl = alarm_actor::stateful_impl<alarm_state>;

/// Runs `f` in `self` after that time; cheap for any number of actors. Without
/// an alarm it is a timer of CAF's own.
template <class F>
caf::disposable run_later(caf::scheduled_actor* self, const alarm_actor& alarm,
                          caf::timespan delay, F f) {
  if (!alarm)
    return self->run_delayed(delay, std::move(f));
  auto what = caf::make_action(std::move(f));
  caf::unsafe_send_as(self, alarm, caf::tick_atom_v, delay, what);
  return what.as_disposable();
}

} // namespace reeve
