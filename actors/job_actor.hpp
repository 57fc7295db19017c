// actors/job_actor.hpp -- one slot: the state machine of one running job.
#pragma once

#include "actors/interfaces.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <optional>

namespace reeve {

/// Who hears of ends and progress; the supervisor in production.
using run_owner_actor = caf::typed_actor<caf::result<void>(run_report),
                                         caf::result<changed>(progress_write)>;

struct job_actor_options {
  /// How long a processor may go on after it was told to stop.
  caf::timespan wedged_grace = std::chrono::seconds{5};
  /// Reports of progress that come faster are merged.
  caf::timespan progress_interval = std::chrono::milliseconds{100};
};

class job_actor_state {
public:
  static constexpr const char* name = "reeve.job";

  /// Starts an executor that reports to the given job actor.
  using executor_factory = std::function<executor_actor(job_actor)>;

  job_actor_state(job_actor::pointer self, run_owner_actor owner,
                  executor_factory make_executor, job_actor_options options);

  ~job_actor_state();

  job_actor::behavior_type make_behavior();

private:
  struct running {
    assignment what;
    /// Why it was told to stop; empty while it was not.
    std::optional<run_outcome> stopped_as;
    /// When it counts as wedged, once it was told to stop.
    caf::actor_clock::time_point give_up_at;
    std::optional<run_progress> unsent;
    bool flush_armed = false;
  };

  void start(assignment& x);
  void stop(run_outcome as);
  void on_timeout(uint64_t nth);
  void on_end(run_report& x);
  void on_progress(run_progress& x);
  void send_progress();
  void spawn_executor();
  void replace_executor();
  void report(outcome result);
  bool is_current(int64_t seq, int64_t run) const;
  bool is_nth(uint64_t nth) const;
  actor_report status() const;

  job_actor::pointer self_;
  run_owner_actor owner_;
  executor_factory make_executor_;
  job_actor_options options_;
  executor_actor executor_;
  std::optional<running> current_;
  /// Runs started in this slot: tells timers of earlier runs from this one's.
  uint64_t runs_ = 0;
  uint32_t abandoned_ = 0;
};

using job_actor_impl = job_actor::stateful_impl<job_actor_state>;

} // namespace reeve
