// actors/gateway/shared_question.hpp -- what many watchers want to know, asked
// once for all of them.
#pragma once

#include <caf/actor_clock.hpp>
#include <caf/timespan.hpp>

#include <chrono>
#include <memory>

namespace reeve {

/// When to ask again. Whoever comes first when it is due asks, for all others,
/// too; when nobody comes, nobody asks. For one thread.
class shared_question {
public:
  using time_point = caf::actor_clock::time_point;

  /// From one question to the next, at least.
  static constexpr std::chrono::seconds spacing{1};
  /// How long to leave alone who did not answer in time.
  static constexpr std::chrono::seconds rest{60};

  /// When it was asked. Whoever asks holds it until the answer is there: if it
  /// is lost before, another one may ask.
  using ticket = std::shared_ptr<const time_point>;

  /// What takes long is asked seldom: answering takes at most one part in
  /// `share` of the time.
  explicit shared_question(int share = 10) : share_(share) {
    // nop
  }

  /// Null: it is not due, or somebody is asking.
  ticket try_ask(time_point now);

  void answered(const ticket& mine, time_point now);

  /// `timed_out`: whoever was asked may still be at it, and is left alone for
  /// a while; the last answer is still the newest.
  void failed(const ticket& mine, time_point now, bool timed_out);

  /// False: the last answer is from when somebody watched last, or the last
  /// question was refused. Too old to be shown.
  bool is_fresh() const noexcept {
    return is_fresh_;
  }

private:
  void pause(const ticket& mine, caf::timespan time);

  int share_;
  std::weak_ptr<const time_point> asker_;
  time_point due_{};
  caf::timespan pause_ = spacing;
  bool is_fresh_ = false;
};

} // namespace reeve
