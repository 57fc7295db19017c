// actors/claimer.hpp -- claims many jobs while the DB actor commits.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/metered_actor.hpp"
#include "actors/side_connection.hpp"

#include <caf/typed_event_based_actor.hpp>

namespace reeve {

/// The CLAIMER: makes claims for the DB actor that have nothing to do with what
/// else is written, on a connection of its own. The flag says that an earlier
/// try may have been committed. Fails with `store_unavailable`, when it is not
/// known whether jobs were claimed, and with `invalid_argument`.
using claimer_actor = caf::typed_actor<caf::result<claimed>(claim_write, bool)>;

class claimer_state {
public:
  static constexpr const char* name = "reeve.claimer";

  claimer_state(claimer_actor::pointer self, store_opener connect);

  claimer_actor::behavior_type make_behavior();

private:
  caf::result<claimed> claim(const claim_write& x, bool repeated);

  claimer_actor::pointer self_;
  side_connection connection_;
};

/// To be spawned `caf::detached`: it waits for the database.
using claimer_impl = metered_actor<claimer_actor::stateful_impl<claimer_state>>;

} // namespace reeve
