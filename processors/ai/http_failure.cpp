// processors/ai/http_failure.cpp -- what failed requests to providers mean.
#include "processors/ai/http_failure.hpp"

#include "net/text.hpp"
#include "persistence/text.hpp"
#include "processors/text/plain_text.hpp"

#include <algorithm>

namespace reeve {

namespace {

constexpr size_t max_detail_code_points = 200;

provider_failure outage(std::string message) {
  return {
    run_outcome::provider_down, std::move(message), {}, lane_effect::outage};
}

// Looks for stretches of the text.
bool repeats(std::string_view detail, std::string_view text) {
  constexpr size_t window = 16;
  constexpr size_t step = window / 2;
  if (text.size() < window)
    return text.size() >= step && detail.find(text) != std::string_view::npos;
  for (size_t i = 0; i + window <= detail.size(); i += step)
    if (text.find(detail.substr(i, window)) != std::string_view::npos)
      return true;
  return false;
}

} // namespace

// -- transport ----------------------------------------------------------------

provider_failure failure_of(const net::client_failure& err,
                            const std::string& name) {
  auto why = " (" + err.message + ")";
  switch (err.code) {
    case net::client_error::unreachable:
      return outage("No connection to " + name + why);
    case net::client_error::cut_off:
      return cut_off(name, err.message);
    case net::client_error::timeout:
      return outage("No answer in time from " + name + why);
    case net::client_error::too_large:
      return {run_outcome::failed,
              "The answer of " + name + " is too large" + why,
              {},
              lane_effect::none};
    case net::client_error::cancelled:
      return {run_outcome::cancelled,
              "The request to " + name + " was stopped",
              {},
              lane_effect::none};
    case net::client_error::bad_request:
    case net::client_error::forbidden_address:
      break;
  }
  return paused("The configured URL or key of " + name + " cannot be used"
                + why);
}

provider_failure cut_off(const std::string& name, const std::string& how) {
  return outage("The answer of " + name + " was cut off (" + how + ")");
}

provider_failure useless(const std::string& name, const std::string& what) {
  return {run_outcome::failed,
          "The answer of " + name + " " + what,
          {},
          lane_effect::none};
}

provider_failure paused(std::string message) {
  return {
    run_outcome::provider_down, std::move(message), {}, lane_effect::pause};
}

// -- statuses -----------------------------------------------------------------

std::string status_text(int status) {
  auto result = "HTTP " + std::to_string(status);
  auto phrase = net::reason_phrase(status);
  // Statuses that are no standard, such as 529, have no name.
  if (!phrase.empty() && phrase != "Unknown")
    result.append(" ").append(phrase);
  return result;
}

provider_failure failure_of(const net::http_response& response,
                            const std::string& name,
                            const std::string& detail) {
  auto status = response.status;
  auto http = " (" + status_text(status) + ")";
  auto delay = net::retry_after(response, std::chrono::system_clock::now());
  auto more = detail.empty() ? detail : ": " + detail;
  if (status == 429)
    return {run_outcome::throttled,
            "The " + name + " asks for fewer requests" + http, delay,
            lane_effect::throttle};
  if (status == 401 || status == 403)
    return {run_outcome::provider_down,
            "The " + name + " refused our credentials (" + status_text(status)
              + "); check the configured API key",
            delay, lane_effect::pause};
  if (status == 402)
    return paused("The " + name + " wants to be paid" + http + more);
  if (status == 408 || status == 425 || (status >= 500 && status <= 599))
    return {run_outcome::provider_down,
            "The " + name + " is not available" + http, delay,
            lane_effect::outage};
  // No job can be to blame for where it is sent.
  if (status >= 300 && status <= 399)
    return paused("The " + name + " redirects elsewhere (" + status_text(status)
                  + "), which is not followed; check the configured URL");
  if (status == 404 || status == 405)
    return paused("The " + name
                  + " does not take requests there; check the configured URL"
                  + http + more);
  if (status >= 400 && status <= 499)
    return {run_outcome::failed_permanently,
            "The " + name + " refused the request" + http + more,
            {},
            lane_effect::none};
  return {run_outcome::failed,
          "The " + name + " answered with a status that means nothing here"
            + http,
          {},
          lane_effect::none};
}

std::string safe_detail(const std::string& raw,
                        std::initializer_list<std::string_view> secrets) {
  auto result =
    truncated(text::one_line(sanitized(raw)), max_detail_code_points);
  if (std::any_of(secrets.begin(), secrets.end(),
                  [&result](std::string_view x) { return repeats(result, x); }))
    return "its explanation repeats the text and is left out";
  return result;
}

std::optional<provider_failure> cut_off_json(const net::http_response& response,
                                             const std::string& name) {
  auto has_length = field_of(response, "content-length").has_value()
    || field_of(response, "transfer-encoding").has_value();
  if (response.status == 204 || has_length
      || nlohmann::json::accept(response.body))
    return std::nullopt;
  return cut_off(
    name, response.body.empty() ? "before its first byte" : "before its end");
}

bool is_event_stream(const net::http_response& response) {
  auto type = net::to_lower(field_of(response, "content-type").value_or(""));
  return net::trim(type).starts_with("text/event-stream");
}

std::optional<std::string> field_of(const net::http_response& response,
                                    std::string_view name) {
  for (const auto& [key, value] : response.headers)
    if (net::iequals(key, name))
      return value;
  return std::nullopt;
}

std::string authority_of(const std::string& url) {
  std::string_view rest{url};
  auto is_https = rest.starts_with("https://");
  if (auto i = rest.find("://"); i != std::string_view::npos)
    rest.remove_prefix(i + 3);
  rest = rest.substr(0, rest.find_first_of("/?#"));
  if (auto i = rest.rfind('@'); i != std::string_view::npos)
    rest.remove_prefix(i + 1);
  auto after_address = rest.find(']');
  auto colon =
    rest.find(':', after_address == std::string_view::npos ? 0 : after_address);
  auto result = text::one_line(sanitized(rest));
  if (colon == std::string_view::npos)
    result += is_https ? ":443" : ":80";
  return result;
}

} // namespace reeve
