// actors/job_actor.hpp -- one slot: the state machine of one running job.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/metered_actor.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <deque>
#include <functional>
#include <optional>

namespace reeve {

/// Who hears of ends and progress; the supervisor in production.
using run_owner_actor = caf::typed_actor<caf::result<void>(run_reports),
                                         caf::result<changed>(progress_write)>;

struct job_actor_options {
  /// How long a processor may go on after it was told to stop.
  caf::timespan wedged_grace = std::chrono::seconds{5};
  /// Reports of progress that come faster are merged.
  caf::timespan progress_interval = std::chrono::milliseconds{100};
  /// Runs of a bundle that were not begun by then go back: they were expected
  /// to be short, and somebody else may be free.
  caf::timespan bundle_patience = std::chrono::milliseconds{200};
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
  using time_point = run_bundle::time_point;

  /// A run that was told to stop.
  struct stopped_run {
    run_key which;
    run_outcome as = run_outcome::cancelled;
    /// When it counts as wedged.
    time_point give_up_at;
  };

  /// What a run told of its progress.
  struct progress_state {
    run_key of;
    std::optional<run_progress> unsent;
    bool flush_armed = false;
  };

  void start(run_bundle_ptr x);
  void interrupt(run_key which);
  void stop(run_key which, run_outcome as);
  void on_news(const run_news& x);
  void on_end(run_report& x);
  void report();
  void look_at_the_clock();
  void give_up();
  void arm(time_point when);
  void on_progress(run_progress& x);
  void send_progress();
  void spawn_executor();
  void replace_executor(const std::string& job_id);
  actor_report status() const;
  actor_report describe_executor(const actor_report& own) const;

  job_actor::pointer self_;
  run_owner_actor owner_;
  executor_factory make_executor_;
  job_actor_options options_;
  executor_actor executor_;
  actor_meter_ptr executor_meter_;
  time_point executor_started_;
  /// Of those that were abandoned, the newest.
  std::deque<restart_note> replacements_;
  run_bundle_ptr bundle_;
  /// Runs of the bundle that have neither ended nor gone back.
  size_t open_ = 0;
  time_point started_;
  std::optional<stopped_run> stopped_;
  progress_state progress_;
  /// Tells flushes of earlier runs' progress from those of this one's.
  uint64_t progress_count_ = 0;
  /// When the next look at the clock is due, by the timer that counts.
  std::optional<time_point> armed_for_;
  uint64_t timers_ = 0;
  uint64_t runs_ = 0;
  uint32_t abandoned_ = 0;
};

using job_actor_impl = metered_actor<job_actor::stateful_impl<job_actor_state>>;

} // namespace reeve
