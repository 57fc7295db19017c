// actors/recall_actor.hpp -- similarity search, beside the reads that must be
// quick.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/metered_actor.hpp"
#include "actors/side_connection.hpp"

#include <caf/typed_event_based_actor.hpp>

namespace reeve {

class recall_actor_state {
public:
  static constexpr const char* name = "reeve.recall";

  recall_actor_state(recall_actor::pointer self, store_opener connect);

  recall_actor::behavior_type make_behavior();

private:
  caf::result<card_hits> search(const card_search& x);
  actor_report status() const;

  recall_actor::pointer self_;
  side_connection store_;
};

/// To be spawned `caf::detached`: the database blocks it.
using recall_actor_impl =
  metered_actor<recall_actor::stateful_impl<recall_actor_state>>;

} // namespace reeve
