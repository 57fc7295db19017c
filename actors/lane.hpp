// actors/lane.hpp -- who may call one provider's model now, who waits and who
// had better come back later. Pure: time and randomness come from outside.
#pragma once

#include "actors/messages.hpp"
#include "config/options.hpp"

#include <caf/actor_clock.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace reeve {

struct lane_options {
  /// `provider/model`.
  std::string name;
  /// Calls that may be under way at once.
  uint32_t concurrency = 1;
  gate_options gate;
};

/// What became of a caller that asked.
struct lane_answer {
  uint64_t ticket = 0;
  permit_answer answer;
};

/// The rules of a lane. Callers queue up (`ask`), in their turn get a permit
/// or learn that there is no hope for long (`advance`), and say how the call
/// went (`give_back`). `advance` is to be called after each of them, and when
/// the time that `next_change` names has come.
class lane {
public:
  using time_point = caf::actor_clock::time_point;

  /// Tickets are counted up from `first_ticket`, which must not be 0.
  lane(lane_options options, uint64_t first_ticket);

  /// Queues a caller behind all others; the result is its ticket.
  uint64_t ask(uint64_t tokens);

  /// Everything that can be answered by now.
  std::vector<lane_answer> advance(time_point now);

  /// Ends a call and learns from it. `how` is empty when nobody knows how the
  /// call went: then the lane learns nothing, and a probe is to be made again.
  /// `random` is in [0, 1). Unknown tickets are ignored.
  void give_back(uint64_t ticket, const std::optional<call_report>& how,
                 time_point now, double random);

  /// Opens the lane, whatever closed it.
  void resume();

  lane_state state(time_point now) const;

  /// When a closed lane opens or probes by itself; empty: it does not.
  std::optional<time_point> opens_at(time_point now) const;

  /// When `advance` or the state may have news although nobody calls.
  std::optional<time_point> next_change(time_point now) const;

  lane_report report(time_point now) const;

  /// Calls under way or waiting.
  bool idle() const noexcept {
    return waiting_.empty() && in_flight_.empty();
  }

private:
  struct waiting_call {
    uint64_t ticket = 0;
    uint64_t tokens = 0;
  };

  struct running_call {
    uint64_t tokens = 0;
    bool is_probe = false;
  };

  /// A rate limit as the provider's last answer left it.
  struct bucket {
    int64_t limit = 0;
    int64_t remaining = 0;
    time_point full_at;
  };

  /// Why nobody is called for a while.
  struct wait {
    time_point until;
    lane_state as = lane_state::open;
    std::string_view why;
  };

  bool half_open(time_point now) const;
  wait closed_by(time_point now) const;
  wait closed_for(uint64_t tokens, time_point now) const;
  bool has_room(uint64_t tokens, time_point now) const;
  void learn(const call_report& how, bool was_probe, time_point now,
             double random);
  void count_outage(const call_report& how, bool was_probe, time_point now);
  void refresh(const rate_limits& limits, time_point now);
  void spend(const running_call& call);
  permit_answer refuse(const wait& x, time_point now) const;
  std::string sentence(const wait& x) const;

  lane_options options_;
  uint64_t next_ticket_;
  std::deque<waiting_call> waiting_;
  std::map<uint64_t, running_call> in_flight_;
  uint64_t calls_ = 0;

  /// Why it is paused; empty: it is not.
  std::optional<std::string> paused_;
  time_point parked_until_;
  std::string parked_why_;
  uint32_t outages_ = 0;
  /// The breaker is open until then, and half-open from then on.
  std::optional<time_point> probe_at_;
  caf::timespan probe_delay_{0};
  std::string broken_why_;
  std::optional<bucket> requests_;
  std::optional<bucket> input_tokens_;
  std::optional<bucket> output_tokens_;
};

} // namespace reeve
