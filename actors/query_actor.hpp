// actors/query_actor.hpp -- every read, so that reads never wait behind writes.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/metered_actor.hpp"
#include "actors/side_connection.hpp"

#include <caf/typed_event_based_actor.hpp>

namespace reeve {

class query_actor_state {
public:
  static constexpr const char* name = "reeve.query";

  query_actor_state(query_actor::pointer self, store_opener connect);

  query_actor::behavior_type make_behavior();

private:
  /// As those of `side_connection`, by this actor's clock.
  template <class F>
  auto read(F f) {
    return store_.use(self_->clock().now(), std::move(f));
  }

  template <class F>
  auto find(F f) {
    return store_.find(self_->clock().now(), std::move(f));
  }

  actor_report status() const;

  query_actor::pointer self_;
  side_connection store_;
};

using query_actor_impl =
  metered_actor<query_actor::stateful_impl<query_actor_state>>;

} // namespace reeve
