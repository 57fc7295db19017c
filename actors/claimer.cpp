// actors/claimer.cpp -- one claim after the other, on a connection of its own.
#include "actors/claimer.hpp"

#include <utility>

namespace reeve {

namespace {

/// Until it connects, if nobody needs it before: the start of a node has more
/// urgent things to do, the first backlog has not.
constexpr auto quiet_start = std::chrono::milliseconds{250};
/// Until it tries that again.
constexpr auto prepare_again = std::chrono::seconds{5};

} // namespace

claimer_state::claimer_state(claimer_actor::pointer self, store_opener connect)
  : self_(self), connection_(std::move(connect)) {
  // nop
}

claimer_actor::behavior_type claimer_state::make_behavior() {
  prepare_in(quiet_start);
  return {
    [this](status_atom) { return status(); },
    [this](const claim_write& x) { return claim(x); },
  };
}

void claimer_state::prepare_in(caf::timespan delay) {
  self_->run_delayed(delay, [this] {
    if (!connection_.prepare(self_->clock().now(),
                             [](job_store& x) { x.expect_claims(); }))
      prepare_in(prepare_again);
  });
}

caf::result<unread_claim_ptr> claimer_state::claim(const claim_write& x) {
  auto answer = connection_.use(
    self_->clock().now(), [&x, repeated = false](job_store& store) mutable {
      // Should this connection be lost, the next one looks first.
      return store.claim(x, std::exchange(repeated, true));
    });
  if (!answer)
    return std::move(answer.error());
  if (auto* no = std::get_if<refusal>(&*answer))
    return make_error(*no);
  return std::get<unread_claim_ptr>(std::move(*answer));
}

actor_report claimer_state::status() const {
  actor_report result;
  connection_.describe(result, "claims");
  result.mailbox = self_->mailbox().size();
  return result;
}

} // namespace reeve
