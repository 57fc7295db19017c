// actors/gateway/relay.cpp -- passes requests on, and answers back.
#include "actors/gateway/relay.hpp"

#include <caf/typed_response_promise.hpp>

#include <utility>

namespace reeve {

relay_state::relay_state(relay_actor::broker_pointer self,
                         supervisor_actor supervisor)
  : self_(self), supervisor_(std::move(supervisor)) {
  // nop
}

relay_actor::behavior_type relay_state::make_behavior() {
  return {
    [this](enqueue_write& x) -> caf::result<enqueued> {
      auto promise = self_->make_response_promise<enqueued>();
      // How long the answer may take is for who asks to say. One is kept for
      // each client that waits: CAF looks for them one after the other, which
      // costs less than what it saves also with 9,000.
      self_->request(supervisor_, caf::infinite, std::move(x))
        .then([promise](
                enqueued& added) mutable { promise.deliver(std::move(added)); },
              [promise](caf::error& err) mutable {
                promise.deliver(std::move(err));
              });
      return promise;
    },
  };
}

relay_actor spawn_relay(caf::actor_system& sys, supervisor_actor supervisor) {
  using impl = relay_actor::stateful_broker_base<relay_state>;
  caf::actor_config cfg{&sys.middleman().backend()};
  return sys.spawn_class<impl, caf::hidden>(cfg, std::move(supervisor));
}

} // namespace reeve
