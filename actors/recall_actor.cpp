// actors/recall_actor.cpp -- an embedding becomes the cards that are like it.
#include "actors/recall_actor.hpp"

#include <utility>

namespace reeve {

recall_actor_state::recall_actor_state(recall_actor::pointer self,
                                       store_opener connect)
  : self_(self), store_(std::move(connect)) {
  // nop
}

recall_actor::behavior_type recall_actor_state::make_behavior() {
  return {
    [this](const card_search& x) { return search(x); },
    [this](status_atom) { return status(); },
  };
}

caf::result<card_hits> recall_actor_state::search(const card_search& x) {
  return store_.use(self_->clock().now(),
                    [&](job_store& store) { return store.similar_cards(x); });
}

actor_report recall_actor_state::status() const {
  actor_report result;
  store_.describe(result);
  result.mailbox = self_->mailbox().size();
  return result;
}

} // namespace reeve
