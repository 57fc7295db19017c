// actors/gateway/json.cpp -- field by field, as the API documents them.
#include "actors/gateway/json.hpp"

#include "actors/gateway/json_values.hpp"

#include <map>

namespace reeve {

ordered_json to_json(const usage& x) {
  return {
    {"input_tokens", x.input_tokens},
    {"output_tokens", x.output_tokens},
    {"images", x.images},
  };
}

ordered_json progress_json(job_status status, int percent,
                           const std::string& message) {
  return {{"percent", status == job_status::completed ? 100 : percent},
          {"message", message}};
}

ordered_json to_json(const job& x) {
  return {
    {"id", x.id},
    {"type", x.type},
    {"status", to_string(x.status)},
    {"target_id", x.target_id},
    {"user_id", or_null(x.user_id)},
    {"payload", ordered_json(x.payload.value())},
    {"result", ordered_json(x.result.value())},
    {"progress",
     progress_json(x.status, x.progress_percent, x.progress_message)},
    {"error_message", or_null(x.error_message)},
    {"attempts", x.attempts},
    {"max_attempts", x.max_attempts},
    {"unspent",
     {{"throttled", x.unspent.throttled},
      {"provider_down", x.unspent.provider_down},
      {"interrupted", x.unspent.interrupted}}},
    {"usage", to_json(x.used)},
    {"priority", x.priority},
    {"unique_key", or_null(x.unique_key)},
    {"traceparent", empty_as_null(x.trace.parent)},
    {"run_at", to_rfc3339(x.run_at)},
    {"reason", x.reason},
    {"cancel_requested", x.cancel_requested},
    {"created_at", to_rfc3339(x.created_at)},
    {"started_at", or_null(x.started_at)},
    {"finished_at", or_null(x.finished_at)},
    {"updated_at", to_rfc3339(x.updated_at)},
    {"version", x.version},
  };
}

ordered_json to_json(const attempt& x) {
  return {
    {"run", x.run},
    {"node", x.node},
    {"started_at", to_rfc3339(x.started_at)},
    {"finished_at", to_rfc3339(x.finished_at)},
    {"outcome", to_string(x.outcome)},
    {"error", x.error},
    {"decision", to_string(x.decision)},
    {"why", x.why},
    {"next_run_at", or_null(x.next_run_at)},
  };
}

ordered_json to_json(const job_step& x) {
  return {
    {"name", x.name},
    {"provider", empty_as_null(x.provider)},
    {"model", empty_as_null(x.model)},
    {"usage", to_json(x.used)},
    {"took_ms", x.took.count()},
    {"run", x.run},
    {"created_at", to_rfc3339(x.created_at)},
    {"result", ordered_json(x.result)},
  };
}

ordered_json to_json(const error_group& x) {
  return {
    {"fingerprint", x.fingerprint},
    {"pattern", x.pattern},
    {"count", x.count},
    {"types", x.types},
    {"first_seen", to_rfc3339(x.first_seen)},
    {"last_seen", to_rfc3339(x.last_seen)},
    {"example",
     {{"job_id", x.example_job_id}, {"error_message", x.example_message}}},
  };
}

ordered_json to_json(const usage_row& x) {
  return {
    {"key", empty_as_null(x.key)},
    {"jobs", x.jobs},
    {"steps", x.steps},
    {"usage", to_json(x.used)},
  };
}

ordered_json to_json(const type_report& x) {
  return {
    {"type", x.type},
    {"paused", x.paused},
    {"reason", empty_as_null(x.reason)},
    {"paused_since", or_null(x.paused_since)},
    {"running", x.running},
    {"concurrency",
     x.concurrency == 0 ? ordered_json(nullptr) : ordered_json(x.concurrency)},
    {"timeout_seconds", x.timeout.count() / 1000.0},
    {"max_attempts", x.max_attempts},
    {"lanes", to_json(x.lanes)},
  };
}

namespace {

ordered_json to_json(const std::optional<rate_limit>& x) {
  if (!x)
    return nullptr;
  return {{"limit", x->limit},
          {"remaining", x->remaining},
          {"reset_seconds", x->reset.count() / 1000.0}};
}

} // namespace

ordered_json to_json(const lane_report& x) {
  ordered_json opens_in = nullptr;
  if (x.opens_in)
    opens_in = x.opens_in->count() / 1000.0;
  return {
    {"name", x.name},
    {"state", to_string(x.state)},
    {"reason", empty_as_null(x.reason)},
    {"opens_in_seconds", std::move(opens_in)},
    {"in_flight", x.in_flight},
    {"concurrency", x.concurrency},
    {"waiting", x.waiting},
    {"calls", x.calls},
    {"outages", x.outages},
    {"limits",
     {{"requests", to_json(x.limits.requests)},
      {"input_tokens", to_json(x.limits.input_tokens)},
      {"output_tokens", to_json(x.limits.output_tokens)}}},
  };
}

ordered_json to_json(const store_stats& x) {
  std::map<job_status, int64_t> totals;
  for (auto status :
       {job_status::pending, job_status::processing, job_status::completed,
        job_status::failed, job_status::cancelled})
    totals[status] = 0;
  ordered_json by_type = ordered_json::object();
  for (const auto& entry : x.counts) {
    totals[entry.status] += entry.count;
    by_type[entry.type][std::string{to_string(entry.status)}] = entry.count;
  }
  ordered_json jobs = ordered_json::object();
  for (const auto& [status, count] : totals)
    jobs[std::string{to_string(status)}] = count;
  ordered_json age = nullptr;
  if (x.oldest_due_age)
    age = x.oldest_due_age->count() / 1000.0;
  return {{"jobs", std::move(jobs)},
          {"by_type", std::move(by_type)},
          {"oldest_due_seconds", std::move(age)}};
}

std::string dump(const ordered_json& x) {
  return x.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

net::http_response json_response(int status, const ordered_json& body) {
  return {status, {{"Content-Type", "application/json"}}, dump(body)};
}

} // namespace reeve
