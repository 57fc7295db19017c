// actors/metrics.hpp -- every metric's name, meaning and unit, in one place.
#pragma once

#include "persistence/job.hpp"

#include <caf/actor_clock.hpp>
#include <caf/fwd.hpp>
#include <caf/telemetry/counter.hpp>
#include <caf/telemetry/gauge.hpp>
#include <caf/telemetry/histogram.hpp>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reeve {

/// What the node counts. Every instance is a view on the actor system's metric
/// registry, which `/metrics` exports; each actor keeps one.
class metrics {
public:
  explicit metrics(caf::actor_system& sys);

  /// One transaction with so many writes.
  void committed(size_t writes, caf::timespan took);
  void database_away(bool away);
  /// A run ended and the end was committed.
  void settled(std::string_view type, run_outcome outcome, caf::timespan took);
  /// A late write of a run that had lost its job.
  void fenced();
  void rescued(size_t jobs);
  void claimed(size_t jobs);
  void enqueued(std::string_view type, size_t jobs);
  void running(size_t jobs);
  void restarted(std::string_view actor);
  void responded(int status, caf::timespan took);
  void connections(int64_t change);
  void watchers(size_t count);

private:
  /// Of one job type; found in the registry at its first use.
  struct type_counters {
    caf::telemetry::int_counter* enqueued = nullptr;
    caf::telemetry::dbl_counter* run_seconds = nullptr;
    std::map<run_outcome, caf::telemetry::int_counter*> runs;
  };

  type_counters& of(std::string_view type);

  caf::telemetry::metric_registry& registry_;
  std::map<std::string, type_counters, std::less<>> types_;
  /// By status. Few: every connection keeps its own.
  std::vector<std::pair<int, caf::telemetry::int_counter*>> responses_;
  caf::telemetry::int_counter* writes_;
  caf::telemetry::dbl_histogram* commit_seconds_;
  caf::telemetry::int_gauge* database_away_;
  caf::telemetry::int_counter* fenced_;
  caf::telemetry::int_counter* rescued_;
  caf::telemetry::int_counter* claimed_;
  caf::telemetry::int_gauge* running_;
  caf::telemetry::int_gauge* connections_;
  caf::telemetry::int_gauge* watchers_;
  caf::telemetry::dbl_histogram* response_seconds_;
};

/// The registry in Prometheus' text format 0.0.4.
std::string prometheus_text(caf::actor_system& sys);

} // namespace reeve
