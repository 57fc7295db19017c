// actors/claimer.hpp -- claims many jobs while the DB actor commits.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/metered_actor.hpp"
#include "actors/side_connection.hpp"

#include <caf/typed_event_based_actor.hpp>

namespace reeve {

class claimer_state {
public:
  static constexpr const char* name = "reeve.claimer";

  claimer_state(claimer_actor::pointer self, store_opener connect);

  claimer_actor::behavior_type make_behavior();

private:
  void prepare_in(caf::timespan delay);
  caf::result<unread_claim_ptr> claim(const claim_write& x);
  actor_report status() const;

  claimer_actor::pointer self_;
  side_connection connection_;
};

/// To be spawned `caf::detached`: it waits for the database.
using claimer_impl = metered_actor<claimer_actor::stateful_impl<claimer_state>>;

} // namespace reeve
