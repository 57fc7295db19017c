// actors/gateway/questions.hpp -- what a connection has asked the node and has
// not heard of yet.
#pragma once

#include "actors/gateway/alarm.hpp"
#include "actors/type_ids.hpp"

#include <caf/actor_clock.hpp>
#include <caf/disposable.hpp>
#include <caf/error.hpp>
#include <caf/scheduled_actor.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <utility>

namespace reeve {

/// One question: it ends by an answer or by its deadline, whichever comes
/// first.
struct question {
  caf::actor_clock::time_point deadline;
  /// What to do without an answer; empty once it has ended.
  std::function<void(caf::error&)> give_up;

  /// False when the question had ended before.
  bool end() {
    return std::exchange(give_up, nullptr) != nullptr;
  }

  /// Ends it without an answer, unless it has ended.
  void fail(caf::error& err) {
    if (auto f = std::exchange(give_up, nullptr))
      f(err);
  }
};

using question_ptr = std::shared_ptr<question>;

/// The open questions of one actor, with one timer for all of them. CAF's own
/// deadlines of requests would wake the clock's thread twice for each, which
/// costs more than the rest of a small request.
class questions : public std::enable_shared_from_this<questions> {
public:
  using pointer = std::shared_ptr<questions>;

  questions(caf::scheduled_actor* self, alarm_actor alarm)
    : self_(self), alarm_(std::move(alarm)) {
    // nop
  }

  ~questions();

  /// Those of this actor, which is the caller; they go when it goes.
  static pointer of(caf::scheduled_actor* self, const alarm_actor& alarm = {});

  /// Calls `give_up` with `sec::request_timeout` unless the question has ended
  /// by then. All questions of an actor have the same `patience`.
  question_ptr add(caf::timespan patience,
                   std::function<void(caf::error&)> give_up);

private:
  void drop_ended();
  void arm();
  void on_deadline();

  caf::scheduled_actor* self_;
  alarm_actor alarm_;
  /// In the order of their deadlines. Ended ones are dropped from the front.
  std::deque<question_ptr> open_;
  caf::disposable timer_;
  bool armed_ = false;
};

} // namespace reeve
