// actors/provider_gate.hpp -- who may call one provider's model, and when.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/lane.hpp"
#include "actors/metered_actor.hpp"
#include "actors/provider_metrics.hpp"

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <map>
#include <optional>
#include <random>

namespace reeve {

class provider_gate_state {
public:
  static constexpr const char* name = "reeve.provider-gate";

  provider_gate_state(provider_gate_actor::pointer self, lane_options options,
                      lane_watcher_actor watcher,
                      uint64_t seed = std::random_device{}());

  ~provider_gate_state();

  provider_gate_actor::behavior_type make_behavior();

private:
  using time_point = lane::time_point;

  /// Somebody who waits for a permit, or holds one: then `open` is delivered.
  struct caller {
    caf::actor_addr holder;
    caf::typed_response_promise<permit_answer> open;
    /// When it got its permit.
    time_point since{};
  };

  caf::result<permit_answer> ask(const permit_request& x);
  void give_back(const permit_return& x);
  void on_down(const caf::actor_addr& holder);
  void forget(uint64_t ticket);
  bool knows(const caf::actor_addr& holder) const;
  void resume();
  /// Answers who can be answered, tells the watcher, sets the timer.
  void advance();
  void tell();
  void arm();
  double random();
  actor_report status() const;

  provider_gate_actor::pointer self_;
  lane lane_;
  lane_watcher_actor watcher_;
  std::mt19937_64 random_;
  std::map<uint64_t, caller> callers_;
  /// What the watcher knows.
  lane_state told_ = lane_state::open;
  std::optional<time_point> told_opens_at_;
  /// The next timer; empty: none is set.
  std::optional<time_point> armed_for_;
  std::string last_error_;
  provider_metrics metrics_;
};

using provider_gate_impl =
  metered_actor<provider_gate_actor::stateful_impl<provider_gate_state>>;

} // namespace reeve
