// actors/gateway/gateway.hpp -- owns the listening socket.
#pragma once

#include "actors/gateway/context.hpp"
#include "actors/interfaces.hpp"
#include "actors/metered_actor.hpp"

#include <caf/io/all.hpp>

#include <memory>

namespace reeve {

/// The gateway as a broker: what clients may ask, and what the socket says.
using gateway_broker_actor =
  gateway_actor::extend<caf::result<void>(caf::io::new_connection_msg),
                        caf::result<void>(caf::io::acceptor_closed_msg)>;

class gateway_state {
public:
  static constexpr const char* name = "reeve.http-gateway";

  gateway_state(gateway_broker_actor::broker_pointer self,
                supervisor_actor supervisor,
                std::shared_ptr<const gateway_context> context);

  gateway_broker_actor::behavior_type make_behavior();

private:
  void listen();
  void sample();
  void accept(caf::io::connection_handle client);
  actor_report status() const;

  gateway_broker_actor::broker_pointer self_;
  supervisor_actor supervisor_;
  std::shared_ptr<const gateway_context> context_;
  caf::error failure_;
  uint16_t port_ = 0;
  size_t clients_ = 0;
  uint64_t accepted_ = 0;
};

using gateway_impl =
  metered_actor<gateway_broker_actor::stateful_broker_base<gateway_state>>;

/// Spawns the gateway on the middleman's thread.
gateway_actor spawn_gateway(caf::actor_system& sys, supervisor_actor supervisor,
                            std::shared_ptr<const gateway_context> context);

} // namespace reeve
