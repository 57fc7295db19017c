// actors/listener.hpp -- wakes the node when another process enqueues.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/metered_actor.hpp"
#include "actors/scheduler.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <memory>

namespace reeve {

class listener_state {
public:
  static constexpr const char* name = "reeve.listener";

  /// Opens the connection; may throw `store_unavailable`.
  using source_factory = std::function<std::unique_ptr<wake_source>()>;

  listener_state(listener_actor::pointer self, source_factory connect,
                 wakeable_actor target);

  listener_actor::behavior_type make_behavior();

private:
  void listen();
  void lose_connection(const char* what);

  listener_actor::pointer self_;
  source_factory connect_;
  wakeable_actor target_;
  std::unique_ptr<wake_source> source_;
  caf::actor_clock::time_point connected_at_;
  /// The last connection was lost, and this one has not shown yet that it is
  /// any better: the node counts on its polls.
  bool doubtful_ = false;
  uint64_t heard_ = 0;
  std::string last_error_;
};

/// To be spawned `caf::detached`: it waits on its connection.
using listener_impl =
  metered_actor<listener_actor::stateful_impl<listener_state>>;

} // namespace reeve
