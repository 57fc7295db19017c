// actors/gateway/relay.hpp -- the way of new jobs into the node. A message
// from the middleman's thread to another one, and back, costs a wake-up: where
// many clients post at once, theirs go through one actor, so that the requests
// of a round of the multiplexer wake the supervisor once, and the answers of a
// commit the multiplexer.
#pragma once

#include "actors/interfaces.hpp"

#include <caf/io/all.hpp>

namespace reeve {

/// A RELAY: hands new jobs of all connections to the supervisor.
using relay_actor = caf::typed_actor<
  // Answers, and fails, as the supervisor does.
  caf::result<enqueued>(enqueue_write)>;

class relay_state {
public:
  static constexpr const char* name = "reeve.relay";

  relay_state(relay_actor::broker_pointer self, supervisor_actor supervisor);

  relay_actor::behavior_type make_behavior();

private:
  relay_actor::broker_pointer self_;
  supervisor_actor supervisor_;
};

/// Spawns it on the middleman's thread. It ends when nobody can ask it any
/// more, and does not keep the actor system waiting.
relay_actor spawn_relay(caf::actor_system& sys, supervisor_actor supervisor);

} // namespace reeve
