// actors/metrics.cpp -- the names of all metrics. Prometheus' conventions:
// base units, `_total` on counters (added by the collector for sums).
#include "actors/metrics.hpp"

#include <caf/actor_system.hpp>
#include <caf/telemetry/collector/prometheus.hpp>
#include <caf/telemetry/metric_registry.hpp>

#include <algorithm>
#include <chrono>

namespace reeve {

namespace {

double seconds(caf::timespan x) {
  return std::chrono::duration<double>(x).count();
}

caf::string_view view(std::string_view x) {
  return {x.data(), x.size()};
}

caf::telemetry::dbl_histogram* latency(
  caf::telemetry::metric_registry& registry, caf::string_view prefix,
  caf::string_view name, caf::string_view help) {
  static constexpr double buckets[] = {.0005, .001, .0025, .005, .01, .025, .05,
                                       .1,    .25,  .5,    1,    2.5, 5,    10};
  return registry.histogram_singleton<double>(
    prefix, name, caf::make_span(buckets), help, "seconds");
}

} // namespace

metrics::metrics(caf::actor_system& sys)
  : registry_(sys.metrics()),
    writes_(registry_.counter_singleton("reeve.store", "writes",
                                        "Writes committed.", "1", true)),
    commit_seconds_(latency(registry_, "reeve.store", "commit",
                            "Duration of a group commit.")),
    database_away_(registry_.gauge_singleton(
      "reeve.store", "away", "1 while the database cannot be reached.")),
    fenced_(registry_.counter_singleton(
      "reeve.jobs", "fenced", "Late writes of runs that had lost their job.",
      "1", true)),
    rescued_(registry_.counter_singleton(
      "reeve.jobs", "rescued", "Jobs taken back from dead nodes.", "1", true)),
    claimed_(registry_.counter_singleton("reeve.jobs", "claimed",
                                         "Runs started.", "1", true)),
    running_(registry_.gauge_singleton("reeve.jobs", "running",
                                       "Jobs this node is running.")),
    connections_(registry_.gauge_singleton("reeve.http", "connections",
                                           "Clients connected.")),
    watchers_(registry_.gauge_singleton("reeve.http", "watchers",
                                        "Subscriptions to job changes.")),
    response_seconds_(latency(registry_, "reeve.http", "response",
                              "From a complete request to its response.")) {
  // nop
}

metrics::type_counters& metrics::of(std::string_view type) {
  auto known = types_.find(type);
  if (known == types_.end())
    known = types_.emplace(std::string{type}, type_counters{}).first;
  return known->second;
}

void metrics::committed(size_t writes, caf::timespan took) {
  writes_->inc(static_cast<int64_t>(writes));
  commit_seconds_->observe(seconds(took));
}

void metrics::database_away(bool away) {
  database_away_->value(away ? 1 : 0);
}

void metrics::settled(std::string_view type, run_outcome outcome,
                      caf::timespan took) {
  auto& counters = of(type);
  auto*& runs = counters.runs[outcome];
  if (runs == nullptr)
    runs = registry_.counter_instance(
      "reeve.jobs", "runs",
      {{"type", view(type)}, {"outcome", view(to_string(outcome))}},
      "Runs ended, by outcome.", "1", true);
  runs->inc();
  if (counters.run_seconds == nullptr)
    counters.run_seconds = registry_.counter_instance<double>(
      "reeve.jobs", "run", {{"type", view(type)}}, "Time spent in runs.",
      "seconds", true);
  counters.run_seconds->inc(seconds(took));
}

void metrics::fenced() {
  fenced_->inc();
}

void metrics::rescued(size_t jobs) {
  rescued_->inc(static_cast<int64_t>(jobs));
}

void metrics::claimed(size_t jobs) {
  claimed_->inc(static_cast<int64_t>(jobs));
}

void metrics::enqueued(std::string_view type, size_t jobs) {
  auto*& enqueued = of(type).enqueued;
  if (enqueued == nullptr)
    enqueued = registry_.counter_instance("reeve.jobs", "enqueued",
                                          {{"type", view(type)}},
                                          "Jobs accepted.", "1", true);
  enqueued->inc(static_cast<int64_t>(jobs));
}

void metrics::running(size_t jobs) {
  running_->value(static_cast<int64_t>(jobs));
}

void metrics::restarted(std::string_view actor) {
  registry_
    .counter_instance("reeve.actors", "restarts", {{"actor", view(actor)}},
                      "Actors started again after they died.", "1", true)
    ->inc();
}

void metrics::responded(int status, caf::timespan took) {
  auto known = std::find_if(responses_.begin(), responses_.end(),
                            [=](const auto& x) { return x.first == status; });
  if (known == responses_.end()) {
    auto code = std::to_string(status);
    auto* counter = registry_.counter_instance(
      "reeve.http", "responses", {{"status", view(code)}},
      "Responses by status.", "1", true);
    known = responses_.insert(responses_.end(), {status, counter});
  }
  known->second->inc();
  response_seconds_->observe(seconds(took));
}

void metrics::connections(int64_t change) {
  connections_->inc(change);
}

void metrics::watchers(size_t count) {
  watchers_->value(static_cast<int64_t>(count));
}

std::string prometheus_text(caf::actor_system& sys) {
  caf::telemetry::collector::prometheus collector;
  auto text = collector.collect_from(sys.metrics());
  return {text.data(), text.size()};
}

} // namespace reeve
