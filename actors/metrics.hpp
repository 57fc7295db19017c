// actors/metrics.hpp -- what the node counts as it works: names, meanings and
// units, by Prometheus' conventions. (actors/node_metrics.cpp has what is asked
// for at each scrape.)
#pragma once

#include "persistence/job.hpp"

#include <caf/actor_clock.hpp>
#include <caf/fwd.hpp>
#include <caf/telemetry/counter.hpp>
#include <caf/telemetry/gauge.hpp>
#include <caf/telemetry/histogram.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace reeve {

/// The label of all types that are not this node's: there may be any number.
inline constexpr std::string_view other_types = "other";

/// What the node counts. Every instance is a view on the actor system's metric
/// registry, which `/metrics` exports; each actor keeps one.
class metrics {
public:
  explicit metrics(caf::actor_system& sys);

  /// From now on the type's counters are there, at 0; types that nobody named
  /// are counted together.
  void know(std::string_view type);
  /// One transaction with so many writes.
  void committed(size_t writes, caf::timespan took);
  void database_up(bool up);
  /// A run ended and the end was committed.
  void run_ended(std::string_view type, run_outcome outcome,
                 caf::timespan took);
  /// A run began.
  void run_started(const job& x);
  /// A late write of a run that had lost its job.
  void fenced();
  void rescued(size_t jobs);
  void pruned(size_t jobs);
  void enqueued(std::string_view type, size_t jobs);
  /// A job reached a final status.
  void finished(std::string_view type, job_status status);
  void slots(size_t all, size_t busy);
  void watchers(size_t count);
  /// A committed change of a job was made known.
  void changed();

private:
  /// Of one job type.
  struct type_metrics {
    std::string label;
    caf::telemetry::int_counter* enqueued;
    caf::telemetry::int_counter* started;
    caf::telemetry::dbl_histogram* wait_seconds;
    caf::telemetry::dbl_histogram* run_seconds;
    /// By status; those that are not final have none.
    std::array<caf::telemetry::int_counter*, 5> finished;
    std::map<run_outcome, caf::telemetry::int_counter*> ended;
  };

  type_metrics& add(std::string_view type);
  type_metrics& of(std::string_view type);

  caf::telemetry::metric_registry& registry_;
  std::map<std::string, type_metrics, std::less<>> types_;
  caf::telemetry::int_counter* writes_;
  caf::telemetry::dbl_histogram* commit_seconds_;
  caf::telemetry::int_gauge* database_up_;
  caf::telemetry::int_counter* fenced_;
  caf::telemetry::int_counter* rescued_;
  caf::telemetry::int_counter* pruned_;
  caf::telemetry::int_gauge* slots_;
  caf::telemetry::int_gauge* busy_;
  caf::telemetry::int_gauge* watchers_;
  caf::telemetry::int_counter* changes_;
};

/// How often `changed` was called in this process.
int64_t job_changes(caf::actor_system& sys);

} // namespace reeve
