// actors/claimer.cpp -- one claim after the other, on a connection of its own.
#include "actors/claimer.hpp"

#include <utility>

namespace reeve {

claimer_state::claimer_state(claimer_actor::pointer self, store_opener connect)
  : self_(self), connection_(std::move(connect)) {
  // nop
}

claimer_actor::behavior_type claimer_state::make_behavior() {
  return {
    [this](const claim_write& x, bool repeated) { return claim(x, repeated); },
  };
}

caf::result<claimed> claimer_state::claim(const claim_write& x, bool repeated) {
  auto answers = connection_.use(self_->clock().now(), [&](job_store& store) {
    // Should this connection be lost, the next one looks first.
    return store.apply({{x, std::exchange(repeated, true)}});
  });
  if (!answers)
    return std::move(answers.error());
  auto& answer = answers->front();
  if (auto* value = std::get_if<claimed>(&answer))
    return std::move(*value);
  return make_error(std::get<refusal>(answer));
}

} // namespace reeve
