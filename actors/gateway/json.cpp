// actors/gateway/json.cpp -- field by field, as the API documents them.
#include "actors/gateway/json.hpp"

#include "actors/gateway/rfc3339.hpp"

#include <map>

namespace reeve {

namespace {

template <class T>
ordered_json or_null(const std::optional<T>& x) {
  return x ? ordered_json(*x) : ordered_json(nullptr);
}

ordered_json or_null(const std::optional<timestamp>& x) {
  return x ? ordered_json(to_rfc3339(*x)) : ordered_json(nullptr);
}

} // namespace

ordered_json to_json(const job& x) {
  return {
    {"id", x.id},
    {"type", x.type},
    {"status", to_string(x.status)},
    {"target_id", x.target_id},
    {"user_id", or_null(x.user_id)},
    {"payload", ordered_json(x.payload)},
    {"result", ordered_json(x.result)},
    {"progress",
     {{"percent", x.status == job_status::completed ? 100 : x.progress_percent},
      {"message", x.progress_message}}},
    {"error_message", or_null(x.error_message)},
    {"attempts", x.attempts},
    {"max_attempts", x.max_attempts},
    {"unspent",
     {{"throttled", x.unspent.throttled},
      {"provider_down", x.unspent.provider_down},
      {"interrupted", x.unspent.interrupted}}},
    {"priority", x.priority},
    {"unique_key", or_null(x.unique_key)},
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

ordered_json to_json(const scrap& x) {
  return {
    {"id", x.id},
    {"title", or_null(x.title)},
    {"url", or_null(x.url)},
    {"content", x.content},
    {"user_id", or_null(x.user_id)},
    {"created_at", to_rfc3339(x.created_at)},
  };
}

ordered_json to_json(const knowledge_card& x) {
  return {
    {"id", x.id},
    {"scrap_id", x.scrap_id},
    {"job_id", x.job_id},
    {"user_id", or_null(x.user_id)},
    {"summary", x.summary},
    {"tags", x.tags},
    {"embedding_dimension", x.embedding.size()},
    {"embedding", x.embedding},
    {"model", x.model},
    {"created_at", to_rfc3339(x.created_at)},
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

ordered_json to_json(const actor_report& x) {
  return {
    {"name", x.name},
    {"id", x.id},
    {"parent",
     x.parent.empty() ? ordered_json(nullptr) : ordered_json(x.parent)},
    {"state", x.state},
    {"mailbox", x.mailbox},
    {"messages", x.messages},
    {"restarts", x.restarts},
    {"last_error",
     x.last_error.empty() ? ordered_json(nullptr) : ordered_json(x.last_error)},
    {"uptime_seconds", x.uptime.count() / 1000.0},
    {"job_id", or_null(x.job_id)},
  };
}

std::string dump(const ordered_json& x) {
  return x.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

net::http_response json_response(int status, const ordered_json& body) {
  return {status, {{"Content-Type", "application/json"}}, dump(body)};
}

} // namespace reeve
