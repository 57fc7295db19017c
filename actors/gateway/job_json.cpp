// actors/gateway/job_json.cpp -- field by field, in the order of `to_json`.
#include "actors/gateway/job_json.hpp"

#include "actors/gateway/rfc3339.hpp"

#include <optional>
#include <utility>

namespace reeve {

namespace {

/// Of a job without its texts; most have little of them.
constexpr size_t usual_size = 640;

void write_time(net::json_writer& out, std::string_view name,
                const std::optional<timestamp>& x) {
  out.key(name);
  if (x)
    out.value(std::string_view{rfc3339_text{*x}});
  else
    out.null();
}

void write_progress(net::json_writer& out, const job& x) {
  auto percent = x.status == job_status::completed ? 100 : x.progress_percent;
  out.key("progress")
    .begin_object()
    .member("percent", percent)
    .member("message", x.progress_message)
    .end_object();
}

void write_unspent(net::json_writer& out, const unspent_counts& x) {
  out.key("unspent")
    .begin_object()
    .member("throttled", x.throttled)
    .member("provider_down", x.provider_down)
    .member("interrupted", x.interrupted)
    .end_object();
}

void write_usage(net::json_writer& out, const usage& x) {
  out.key("usage")
    .begin_object()
    .member("input_tokens", x.input_tokens)
    .member("output_tokens", x.output_tokens)
    .member("images", x.images)
    .end_object();
}

} // namespace

void write_members(net::json_writer& out, const job& x) {
  out.member("id", x.id)
    .member("type", x.type)
    .member("status", to_string(x.status))
    .member("target_id", x.target_id)
    .member("user_id", x.user_id);
  out.key("payload").raw(x.payload.text());
  out.key("result").raw(x.result.text());
  write_progress(out, x);
  out.member("error_message", x.error_message)
    .member("attempts", x.attempts)
    .member("max_attempts", x.max_attempts);
  write_unspent(out, x.unspent);
  write_usage(out, x.used);
  out.member("priority", x.priority)
    .member("unique_key", x.unique_key)
    .key("traceparent");
  if (x.trace)
    out.value(std::string_view{x.trace.parent});
  else
    out.null();
  write_time(out, "run_at", x.run_at);
  out.member("reason", x.reason).member("cancel_requested", x.cancel_requested);
  write_time(out, "created_at", x.created_at);
  write_time(out, "started_at", x.started_at);
  write_time(out, "finished_at", x.finished_at);
  write_time(out, "updated_at", x.updated_at);
  out.member("version", x.version);
}

void write_json(net::json_writer& out, const job& x) {
  out.begin_object();
  write_members(out, x);
  out.end_object();
}

void write_json(std::string& out, const job& x) {
  net::json_writer writer{out};
  write_json(writer, x);
}

std::string json_of(const job& x) {
  std::string result;
  result.reserve(usual_size + x.payload.text().size() + x.result.text().size());
  write_json(result, x);
  return result;
}

net::http_response json_text_response(int status, std::string body) {
  return {status, {{"Content-Type", "application/json"}}, std::move(body)};
}

} // namespace reeve
