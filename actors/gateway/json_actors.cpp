// actors/gateway/json_actors.cpp -- the tree of actors, field by field.
#include "actors/gateway/json.hpp"
#include "actors/gateway/json_values.hpp"

#include <cmath>

namespace reeve {

namespace {

// Quantiles are known to an eighth: more digits would only look exact.
double rounded(double x) {
  return std::round(x * 1e6) / 1e6;
}

ordered_json to_json(const distribution& x, bool with_last) {
  auto value = [&x](double y) {
    return x.count == 0 ? ordered_json(nullptr) : ordered_json(rounded(y));
  };
  ordered_json result{{"count", x.count},
                      {"p50", value(x.p50)},
                      {"p95", value(x.p95)},
                      {"p99", value(x.p99)}};
  if (with_last)
    result["last"] = value(x.last);
  return result;
}

ordered_json times_json(const std::optional<distribution>& x) {
  return x ? to_json(*x, false) : ordered_json(nullptr);
}

ordered_json budget_json(const std::optional<budget_left>& x) {
  if (!x)
    return nullptr;
  return {
    {"left", x->deaths}, {"of", x->of}, {"window_seconds", x->window.count()}};
}

ordered_json commits_json(const std::optional<commit_figures>& x) {
  if (!x)
    return nullptr;
  return {{"batch", to_json(x->batch, true)},
          {"seconds", to_json(x->seconds, true)},
          {"queue", to_json(x->queue, true)}};
}

} // namespace

ordered_json to_json(const restart_note& x) {
  return {{"at", to_rfc3339(x.at)},
          {"reason", empty_as_null(x.reason)},
          {"by", x.by_operator ? "operator" : "supervisor"}};
}

ordered_json to_json(const actor_report& x) {
  ordered_json counts = ordered_json::object();
  for (const auto& [name, count] : x.counts)
    counts[std::string{name}] = count;
  return {
    {"name", x.name},
    {"id", x.id},
    {"parent", empty_as_null(x.parent)},
    {"state", x.state},
    {"mailbox", x.mailbox},
    {"messages", x.messages},
    {"wait_seconds", times_json(x.wait)},
    {"handling_seconds", times_json(x.handling)},
    {"counts", std::move(counts)},
    {"restarts", x.restarts},
    {"restart_history", to_json(x.restart_history)},
    {"restart_budget", budget_json(x.budget)},
    {"last_error", empty_as_null(x.last_error)},
    {"uptime_seconds", x.uptime.count() / 1000.0},
    {"job_id", x.job ? ordered_json(x.job->id) : ordered_json(nullptr)},
    {"job_type", x.job ? ordered_json(x.job->type) : ordered_json(nullptr)},
    {"job_since",
     x.job ? ordered_json(to_rfc3339(x.job->since)) : ordered_json(nullptr)},
    {"commits", commits_json(x.commits)},
    {"lane", x.lane ? to_json(*x.lane) : ordered_json(nullptr)},
  };
}

} // namespace reeve
