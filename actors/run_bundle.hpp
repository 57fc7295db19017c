// actors/run_bundle.hpp -- runs that one slot does one after the other.
#pragma once

#include "persistence/job.hpp"
#include "processors/processor.hpp"

#include <caf/actor_clock.hpp>
#include <caf/timespan.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace reeve {

/// One run to be done.
struct assignment {
  reeve::job job;
  /// Tells the run to end early. Copies share it: the supervisor, the job actor
  /// and the executor have one, so that it works although the executor's thread
  /// is busy.
  std::stop_source control;
  /// 0: none.
  std::chrono::milliseconds timeout{0};
};

/// How a run ended.
struct run_report {
  int64_t seq = 0;
  int64_t run = 0;
  outcome result;
  /// How long the processor took; 0 when it never came back.
  caf::timespan took{0};
};

/// Runs on their way through one slot: most often one, many when they are
/// short. The executor takes them in order; the slot takes their ends, and may
/// take back what was not begun. Shared by both, since the executor's thread
/// answers no messages while a processor has it.
class run_bundle {
public:
  using time_point = caf::actor_clock::time_point;

  /// What the executor is at.
  struct current_run {
    const assignment* what;
    time_point since;
  };

  explicit run_bundle(std::vector<assignment> runs);

  // -- for the executor -------------------------------------------------------

  /// Valid as long as the bundle; nullptr: none is left.
  const assignment* begin_next(time_point now);

  /// Ends the run that was begun last. False: it was the last one.
  bool finish(outcome result, time_point now);

  // -- for the slot -----------------------------------------------------------

  std::optional<current_run> current() const;

  /// Ends since the last call.
  std::vector<run_report> take_reports();

  /// Runs that were not begun; nobody begins them any more.
  std::vector<run_key> take_back();

  /// Tells a run to stop, begun or not. False: it is none of these.
  bool stop(run_key which);
  /// All of them.
  void stop();

  size_t size() const {
    return runs_.size();
  }

  const std::vector<assignment>& runs() const {
    return runs_;
  }

private:
  const std::vector<assignment> runs_;
  mutable std::mutex mutex_;
  /// The next to begin; `end_` when none is left.
  size_t next_ = 0;
  size_t end_;
  bool busy_ = false;
  time_point since_;
  std::vector<run_report> reports_;
};

using run_bundle_ptr = std::shared_ptr<run_bundle>;

} // namespace reeve
