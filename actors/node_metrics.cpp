// actors/node_metrics.cpp -- figures as Prometheus has them.
#include "actors/node_metrics.hpp"

#include "actors/exposition.hpp"
#include "actors/metrics.hpp"
#include "actors/process_metrics.hpp"
#include "actors/provider_metrics.hpp"

#include <caf/actor_system.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace reeve {

namespace {

constexpr std::string_view listener_name = "listener";

double seconds(std::chrono::milliseconds x) {
  return std::chrono::duration<double>(x).count();
}

// -- jobs ---------------------------------------------------------------------

void add(exposition& out, const store_stats& x,
         const std::set<std::string, std::less<>>& known) {
  std::map<std::pair<std::string, job_status>, int64_t> counts;
  // A series that appears with its first job hides that job from `rate`.
  for (const auto& type : known)
    for (auto status :
         {job_status::pending, job_status::processing, job_status::completed,
          job_status::failed, job_status::cancelled})
      counts[{type, status}] = 0;
  for (const auto& one : x.counts) {
    auto type = known.contains(one.type) ? one.type : std::string{other_types};
    counts[{std::move(type), one.status}] += one.count;
  }
  out.gauge("reeve_jobs", "Jobs in the database, by type and status.");
  for (const auto& [key, count] : counts)
    out.sample(
      {{"type", key.first}, {"status", std::string{to_string(key.second)}}},
      static_cast<double>(count));
  out
    .gauge("reeve_jobs_oldest_due_age_seconds",
           "How long the job that waits longest has been due; 0: none is.")
    .sample(seconds(x.oldest_due_age.value_or(std::chrono::milliseconds{0})));
}

// -- lanes --------------------------------------------------------------------

exposition::labels labels_of(const lane_report& x) {
  auto [provider, model] = parts_of_lane(x.name);
  return {{"provider", std::move(provider)}, {"model", std::move(model)}};
}

template <class F>
void each_lane(exposition& out, const lane_reports& lanes,
               std::string_view name, std::string_view help, F value) {
  out.gauge(name, help);
  for (const auto& x : lanes)
    out.sample(labels_of(x), static_cast<double>(value(x)));
}

void add(exposition& out, const lane_reports& lanes) {
  if (lanes.empty())
    return;
  out.gauge("reeve_provider_lane_state",
            "1 for the state that the lane is in: open, parked (the provider "
            "asked for a rest), broken (the breaker is open), probing, paused "
            "(a bad key or spent money).");
  for (const auto& x : lanes)
    for (auto state : {lane_state::open, lane_state::parked, lane_state::broken,
                       lane_state::probing, lane_state::paused}) {
      auto labels = labels_of(x);
      labels.emplace_back("state", to_string(state));
      out.sample(labels, x.state == state ? 1 : 0);
    }
  each_lane(out, lanes, "reeve_provider_calls_in_flight", "Calls under way.",
            [](const lane_report& x) { return x.in_flight; });
  each_lane(out, lanes, "reeve_provider_calls_waiting",
            "Calls that wait for their turn.",
            [](const lane_report& x) { return x.waiting; });
  each_lane(out, lanes, "reeve_provider_concurrency",
            "Calls that may be under way at once.",
            [](const lane_report& x) { return x.concurrency; });
  each_lane(out, lanes, "reeve_provider_consecutive_outages",
            "Outages in a row; several open the breaker.",
            [](const lane_report& x) { return x.outages; });
}

// -- actors -------------------------------------------------------------------

bool is_up(const actor_report& x) {
  constexpr std::array<std::string_view, 4> down{"unresponsive", "restarting",
                                                 "degraded", "stopped"};
  return std::find(down.begin(), down.end(), x.state) == down.end();
}

void add(exposition& out, const tree_report& tree) {
  out.gauge("reeve_actor_up",
            "0 while the actor is unresponsive, being restarted, degraded or "
            "stopped.");
  for (const auto& x : tree.actors)
    out.sample({{"actor", x.name}}, is_up(x) ? 1 : 0);
  out.gauge("reeve_actor_mailbox_messages",
            "Messages and requests that wait for the actor.");
  for (const auto& x : tree.actors)
    out.sample({{"actor", x.name}}, static_cast<double>(x.mailbox));
  out.counter("reeve_actor_messages_total", "Messages that the actor handled.");
  for (const auto& x : tree.actors)
    out.sample({{"actor", x.name}}, static_cast<double>(x.messages));
  out.counter("reeve_actor_restarts_total",
              "How often the actor was started again.");
  for (const auto& x : tree.actors)
    out.sample({{"actor", x.name}}, x.restarts);
  for (const auto& x : tree.actors)
    if (x.name == listener_name)
      out
        .gauge("reeve_listener_listening",
               "1 while the database tells this node of new jobs (LISTEN), 0 "
               "while it only polls.")
        .sample(x.state == "listening" ? 1 : 0);
}

} // namespace

std::string prometheus_text(caf::actor_system& sys, const scraped_figures& x) {
  exposition out;
  out.gauge("reeve_build_info", "1; the version is its label.")
    .sample({{"version", REEVE_VERSION}}, 1);
  out.add(sys.metrics());
  if (x.stats)
    add(out, *x.stats, x.known_types);
  if (x.lanes)
    add(out, *x.lanes);
  if (x.tree)
    add(out, *x.tree);
  add_process_metrics(out);
  return out.take();
}

} // namespace reeve
