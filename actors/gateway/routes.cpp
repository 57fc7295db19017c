// actors/gateway/routes.cpp -- which handler serves what.
#include "actors/gateway/routes.hpp"

#include "actors/gateway/dashboard.hpp"
#include "actors/gateway/fields.hpp"
#include "actors/gateway/openapi.hpp"
#include "net/json.hpp"
#include "net/problem.hpp"
#include "net/text.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/uuid.hpp"

#include <algorithm>

namespace reeve {

const net::router<handler>& api_routes() {
  static const auto routes = [] {
    net::router<handler> result;
    result.add("POST", "/api/jobs", post_job)
      .add("POST", "/api/jobs/batch", post_jobs_batch)
      .add("GET", "/api/jobs", get_jobs)
      .add("POST", "/api/jobs/retry", post_bulk_retry)
      .add("GET", "/api/jobs/{id}", get_job)
      .add("GET", "/api/jobs/{id}/attempts", get_attempts)
      .add("GET", "/api/jobs/{id}/steps", get_steps)
      .add("GET", "/api/jobs/{id}/explain", get_explain)
      .add("GET", "/api/jobs/{id}/events", get_job_events)
      .add("POST", "/api/jobs/{id}/cancel", post_cancel)
      .add("POST", "/api/jobs/{id}/retry", post_retry)
      .add("GET", "/api/errors", get_errors)
      .add("GET", "/api/events", get_events)
      .add("GET", "/api/types", get_types)
      .add("POST", "/api/types/{type}/pause", post_pause)
      .add("POST", "/api/types/{type}/resume", post_resume)
      .add("GET", "/api/providers", get_providers)
      .add("POST", "/api/providers/{name}/resume", post_resume_provider)
      .add("POST", "/api/scraps", post_scrap)
      .add("GET", "/api/scraps/{id}", get_scrap)
      .add("DELETE", "/api/scraps/{id}", delete_scrap)
      .add("GET", "/api/cards", get_cards)
      .add("GET", "/api/cards/{id}", get_card)
      .add("GET", "/api/recall", get_recall)
      .add("POST", "/api/daily-summaries", post_summary)
      .add("GET", "/api/daily-summaries/{id}", get_summary)
      .add("POST", "/api/daily-summaries/{id}/til", post_til)
      .add("POST", "/api/daily-summaries/{id}/recall", post_recall)
      .add("POST", "/api/generate", post_generate)
      .add("GET", "/api/contents", get_contents)
      .add("GET", "/api/contents/{id}", get_content)
      .add("GET", "/api/contents/{id}/pages/{page}/image", get_image)
      .add("POST", "/api/contents/{id}/pages/{page}/image", post_image)
      .add("GET", "/api/account", get_account)
      .add("GET", "/api/usage", get_usage)
      .add("GET", "/healthz", get_health)
      .add("GET", "/readyz", get_readiness)
      .add("GET", "/metrics", get_metrics)
      .add("GET", "/openapi.json", get_openapi)
      .add("GET", "/api/actors", get_actors)
      .add("GET", "/api/actors/events", get_actor_events)
      .add("POST", "/api/actors/{name}/restart", post_restart)
      .add("GET", "/api/stats", get_stats)
      .add("GET", "/api/stats/history", get_stats_history)
      .add("GET", "/api/stats/events", get_stats_events);
    return result;
  }();
  return routes;
}

namespace {

std::string joined(const std::vector<std::string>& xs) {
  std::string result;
  for (const auto& x : xs)
    result += (result.empty() ? "" : ", ") + x;
  return result;
}

void refuse_method(exchange& x, const std::vector<std::string>& allowed) {
  auto list = joined(allowed);
  if (x.request().method == "OPTIONS")
    return x.respond(net::http_response{204, {{"Allow", list}}, {}});
  auto response =
    net::problem(405, "method_not_allowed", "Allowed here are " + list);
  response.headers.emplace_back("Allow", list);
  x.respond(std::move(response));
}

} // namespace

void dispatch(exchange& x) {
  const auto& request = x.request();
  if (request.target == "*")
    return x.respond(net::http_response{
      204, {{"Allow", "GET, HEAD, POST, DELETE, OPTIONS"}}, {}});
  using router = net::router<handler>;
  auto match = api_routes().match(request.method, request.segments);
  if (auto* found = std::get_if<router::found>(&match)) {
    // Ids have one spelling inside; other names are what they are.
    if (auto i = found->parameters.find("id"); i != found->parameters.end())
      i->second = lower_case(i->second);
    x.set_route(found->name, std::move(found->parameters));
    (*found->handler)(x);
  } else if (auto* wrong = std::get_if<router::wrong_method>(&match)) {
    refuse_method(x, wrong->allowed);
  } else if (is_dashboard_path(request.segments)) {
    get_dashboard(x);
  } else {
    x.fail(404, "not_found", "There is no such path; see /openapi.json");
  }
}

nlohmann::json json_body(const exchange& x) {
  auto type = x.request().header("content-type").value_or("");
  auto media = type.substr(0, type.find(';'));
  while (media.ends_with(' '))
    media.remove_suffix(1);
  if (!net::iequals(media, "application/json"))
    throw bad_request(415, "unsupported_media_type",
                      "Send Content-Type: application/json");
  try {
    return net::parse_json(x.request().body);
  } catch (const net::json_error& err) {
    throw bad_request(err.what());
  }
}

nlohmann::json json_body_or_empty(const exchange& x) {
  return x.request().body.empty() ? nlohmann::json::object() : json_body(x);
}

uint32_t page_limit(const exchange& x) {
  int64_t most = x.context().http.max_page_size;
  auto limit = x.query("limit");
  return static_cast<uint32_t>(limit ? parse_integer("limit", *limit, 1, most)
                                     : std::min<int64_t>(50, most));
}

std::optional<std::string> id_cursor(const exchange& x) {
  auto result = x.query("cursor");
  if (result && !is_uuid(*result))
    throw bad_request("cursor must be the next_cursor of an earlier answer");
  return result;
}

void require_operator(const exchange& x) {
  if (!x.who().is_operator)
    throw bad_request(403, "forbidden", "Only an operator may do this");
}

void require_visible(const exchange& x,
                     const std::optional<std::string>& owner) {
  if (!x.who().may_see(owner))
    throw bad_request(404, "not_found", "There is nothing with this id");
}

} // namespace reeve
