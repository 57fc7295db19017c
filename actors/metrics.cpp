// actors/metrics.cpp -- the names of what is counted as it happens.
#include "actors/metrics.hpp"

#include "actors/histograms.hpp"

#include <caf/actor_system.hpp>
#include <caf/telemetry/metric_registry.hpp>

#include <algorithm>

namespace reeve {

namespace {

caf::string_view view(std::string_view x) {
  return {x.data(), x.size()};
}

caf::telemetry::int_counter* changes_of(caf::actor_system& sys) {
  return sys.metrics().counter_singleton(
    "reeve.jobs", "changes", "Changes of jobs that this node committed.", "1",
    true);
}

} // namespace

metrics::metrics(caf::actor_system& sys)
  : registry_(sys.metrics()),
    writes_(registry_.counter_singleton("reeve.database", "writes",
                                        "Writes committed.", "1", true)),
    commit_seconds_(registry_.histogram_singleton<double>(
      "reeve.database", "commit_duration", caf::make_span(short_buckets),
      "Time that a transaction with a group of writes took.", "seconds")),
    database_up_(registry_.gauge_singleton(
      "reeve.database", "up", "0 while the database cannot be reached.")),
    fenced_(registry_.counter_singleton(
      "reeve.jobs", "fenced", "Late writes of runs that had lost their job.",
      "1", true)),
    rescued_(registry_.counter_singleton(
      "reeve.jobs", "rescued", "Jobs taken back from dead nodes.", "1", true)),
    pruned_(registry_.counter_singleton("reeve.jobs", "pruned",
                                        "Jobs deleted when their retention was "
                                        "over.",
                                        "1", true)),
    slots_(registry_.gauge_singleton("reeve", "slots",
                                     "How many jobs may run at once.")),
    busy_(registry_.gauge_singleton("reeve.slots", "busy",
                                    "Slots with jobs in them.")),
    watchers_(registry_.gauge_singleton("reeve.http", "watchers",
                                        "Subscriptions to job changes.")),
    changes_(changes_of(sys)) {
  // nop
}

// All at once: a series that appears with its first job hides that job from
// `rate`.
metrics::type_metrics& metrics::add(std::string_view type) {
  const caf::telemetry::label_view label{"type", view(type)};
  auto counter = [&](caf::string_view prefix, caf::string_view name,
                     caf::string_view help) {
    return registry_.counter_instance(prefix, name, {label}, help, "1", true);
  };
  auto times = [&](caf::string_view prefix, caf::string_view name,
                   caf::string_view help) {
    return histogram(registry_, prefix, name, {label},
                     caf::make_span(long_buckets), help);
  };
  type_metrics made{
    std::string{type},
    counter("reeve.jobs", "enqueued", "Jobs accepted by this node."),
    counter("reeve.runs", "started", "Runs started."),
    times("reeve.job", "wait",
          "Time from when a job was due to the start of its run."),
    times("reeve.run", "duration",
          "Time from the start of a run to its "
          "end, its commit included."),
    {},
    {}};
  for (auto status :
       {job_status::completed, job_status::failed, job_status::cancelled})
    made.finished[static_cast<size_t>(status)] = registry_.counter_instance(
      "reeve.jobs", "finished", {label, {"status", view(to_string(status))}},
      "Jobs that ended for good.", "1", true);
  return types_.emplace(std::string{type}, std::move(made)).first->second;
}

// Other nodes and SQL clients may have any number of types.
metrics::type_metrics& metrics::of(std::string_view type) {
  if (auto known = types_.find(type); known != types_.end())
    return known->second;
  auto others = types_.find(other_types);
  return others != types_.end() ? others->second : add(other_types);
}

void metrics::know(std::string_view type) {
  if (!types_.contains(type))
    add(type);
}

void metrics::committed(size_t writes, caf::timespan took) {
  writes_->inc(static_cast<int64_t>(writes));
  commit_seconds_->observe(in_seconds(took));
}

void metrics::database_up(bool up) {
  database_up_->value(up ? 1 : 0);
}

void metrics::run_started(const job& x) {
  auto& known = of(x.type);
  known.started->inc();
  // Both times are the store's.
  if (x.started_at)
    known.wait_seconds->observe(
      std::max(0.0, in_seconds(*x.started_at - x.run_at)));
}

void metrics::run_ended(std::string_view type, run_outcome outcome,
                        caf::timespan took) {
  auto& known = of(type);
  auto*& ended = known.ended[outcome];
  if (ended == nullptr)
    ended = registry_.counter_instance(
      "reeve.runs", "ended",
      {{"type", view(known.label)}, {"outcome", view(to_string(outcome))}},
      "Runs ended, by outcome.", "1", true);
  ended->inc();
  known.run_seconds->observe(in_seconds(took));
}

void metrics::fenced() {
  fenced_->inc();
}

void metrics::pruned(size_t jobs) {
  pruned_->inc(static_cast<int64_t>(jobs));
}

void metrics::rescued(size_t jobs) {
  rescued_->inc(static_cast<int64_t>(jobs));
}

void metrics::enqueued(std::string_view type, size_t jobs) {
  of(type).enqueued->inc(static_cast<int64_t>(jobs));
}

void metrics::finished(std::string_view type, job_status status) {
  if (auto* counter = of(type).finished[static_cast<size_t>(status)])
    counter->inc();
}

void metrics::slots(size_t all, size_t busy) {
  slots_->value(static_cast<int64_t>(all));
  busy_->value(static_cast<int64_t>(busy));
}

void metrics::watchers(size_t count) {
  watchers_->value(static_cast<int64_t>(count));
}

void metrics::changed() {
  changes_->inc();
}

int64_t job_changes(caf::actor_system& sys) {
  return changes_of(sys)->value();
}

} // namespace reeve
