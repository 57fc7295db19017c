// processors/webhook.cpp -- a job type whose work is a service's: the job is
// POSTed to a URL.
#include "processors/webhook.hpp"

#include "net/client.hpp"
#include "net/json.hpp"
#include "net/text.hpp"
#include "persistence/text.hpp"
#include "processors/job_json.hpp"
#include "processors/text/plain_text.hpp"
#include "processors/trace_fields.hpp"
#include "processors/webhook_redirect.hpp"
#include "processors/webhook_signature.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace reeve {

namespace {

using std::chrono::milliseconds;

constexpr int max_redirects = 3;

/// Of an answer that refuses, in the error message.
constexpr size_t max_quoted_code_points = 300;

std::optional<std::string> header(const net::http_response& response,
                                  std::string_view name) {
  for (const auto& [key, value] : response.headers)
    if (net::iequals(key, name))
      return value;
  return std::nullopt;
}

nlohmann::json result_of(std::string body) {
  if (net::trim(body).empty())
    return nullptr;
  try {
    return net::parse_json(body);
  } catch (const net::json_error&) {
    // Not JSON that a store could keep: then it is some text.
  }
  if (!is_storable(body))
    return {{"bytes", body.size()}};
  return {{"body", std::move(body)}};
}

outcome with_delay(outcome x, std::optional<milliseconds> delay) {
  x.delay = delay;
  return x;
}

outcome outcome_of(const net::client_failure& failure,
                   const std::string& type) {
  auto message = "The webhook was not delivered: " + failure.message;
  switch (failure.code) {
    case net::client_error::cancelled:
      return outcome::cancelled();
    case net::client_error::unreachable:
    case net::client_error::cut_off:
      return outcome::provider_down(std::move(message));
    // What this job asks for may be what takes so long.
    case net::client_error::timeout:
      return outcome::failed(std::move(message));
    case net::client_error::too_large:
    case net::client_error::bad_request:
      return outcome::failed_permanently(std::move(message));
    case net::client_error::forbidden_address:
      return outcome::failed_permanently(
        std::move(message) + " (types." + type
        + ".addresses = \"any\" permits such addresses)");
  }
  return outcome::failed(std::move(message));
}

outcome outcome_of(net::http_response response) {
  auto status = response.status;
  if (status >= 200 && status < 300)
    return outcome::completed(result_of(std::move(response.body)));
  auto message = "The webhook answered " + std::to_string(status);
  auto quoted = text::one_line(sanitized(response.body));
  if (!quoted.empty())
    message += ": " + truncated(quoted, max_quoted_code_points);
  auto delay = net::retry_after(response, std::chrono::system_clock::now());
  if (status == 429 || (status == 503 && delay))
    return outcome::throttled(std::move(message), delay);
  // A gateway's word that the service is not there.
  if (status == 502 || status == 503 || status == 504)
    return outcome::provider_down(std::move(message), delay);
  if (status == 408 || status == 425 || status >= 500)
    return with_delay(outcome::failed(std::move(message)), delay);
  return outcome::failed_permanently(std::move(message));
}

net::client_request request_for(const job& job, const webhook_options& options,
                                const std::string& key) {
  auto now =
    std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  net::client_request result;
  result.url = options.url;
  result.body = job_json(job);
  result.connect_timeout = options.connect_timeout;
  result.max_response_bytes = options.max_response_bytes;
  result.public_addresses_only = !options.allow_private;
  // Receivers tell repeats by the id: it is the job's, whatever the attempt.
  result.headers = {
    {"Content-Type", "application/json"},
    {"Reeve-Job-Id", job.id},
    {"Reeve-Attempt", std::to_string(job.attempts)},
    {"Idempotency-Key", job.id},
    {"webhook-id", job.id},
    {"webhook-timestamp", std::to_string(now.time_since_epoch().count())}};
  if (!key.empty())
    result.headers.emplace_back(
      "webhook-signature", webhook_signature(key, job.id, now, result.body));
  return result;
}

// Where a redirect leads; an outcome when it is not followed: other statuses
// change the method, other hosts whom the job is told to.
std::variant<std::string, outcome> followed(const std::string& from,
                                            const net::http_response& response,
                                            int redirects) {
  auto answered = "The webhook answered " + std::to_string(response.status);
  auto target =
    same_origin_target(from, header(response, "location").value_or(""));
  if ((response.status != 307 && response.status != 308) || !target)
    return outcome::failed_permanently(
      answered + ": only 307 and 308 to the same host are followed");
  if (redirects >= max_redirects)
    return outcome::failed_permanently(
      answered + " after " + std::to_string(max_redirects) + " redirects");
  return *std::move(target);
}

} // namespace

webhook::webhook(webhook_options options) : options_(std::move(options)) {
  if (!is_http_url(options_.url))
    throw std::invalid_argument("a webhook's URL must be http:// or https:// "
                                "with a host");
  auto key = webhook_key(options_.secret);
  if (!key)
    throw std::invalid_argument("a webhook's secret must have base64 behind "
                                "whsec_");
  key_ = *std::move(key);
}

outcome webhook::run(job_context& context) {
  using std::chrono::steady_clock;
  context.progress(0, "calling the webhook");
  auto request = request_for(context.current(), options_, key_);
  add_trace(request, context.trace());
  auto deadline = steady_clock::now() + options_.timeout;
  for (int redirects = 0;; ++redirects) {
    auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    if (left <= milliseconds{0} && redirects > 0)
      return outcome::failed(
        "The webhook was not delivered: its redirects took "
        "longer than "
        + std::to_string(options_.timeout.count()) + " ms");
    request.total_timeout = std::max(milliseconds{1}, left);
    auto answer = net::send(request, context.stop());
    if (auto* failure = std::get_if<net::client_failure>(&answer))
      return outcome_of(*failure, context.current().type);
    auto& response = std::get<net::http_response>(answer);
    if (response.status < 300 || response.status > 399)
      return outcome_of(std::move(response));
    auto next = followed(request.url, response, redirects);
    if (auto* refused = std::get_if<outcome>(&next))
      return *refused;
    request.url = std::get<std::string>(std::move(next));
  }
}

} // namespace reeve
