// config/validation.cpp -- what no parser sees: ranges and contradictions.
#include "config/options.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cmath>

namespace reeve {

namespace {

using namespace std::chrono_literals;

void require(bool holds, const std::string& key, const std::string& allowed) {
  if (!holds)
    throw bad_option(key + ": allowed is " + allowed);
}

void require_between(caf::timespan value, caf::timespan lowest,
                     caf::timespan highest, const std::string& key,
                     const std::string& allowed) {
  require(value >= lowest && value <= highest, key, allowed);
}

bool is_one_of(std::string_view value,
               std::initializer_list<std::string_view> allowed) {
  return std::find(allowed.begin(), allowed.end(), value) != allowed.end();
}

bool is_node_name(std::string_view name) {
  auto is_plain = [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= 100
    && std::all_of(name.begin(), name.end(), is_plain);
}

bool is_number_between(double value, double lowest, double highest) {
  return std::isfinite(value) && value >= lowest && value <= highest;
}

void validate_http(const http_options& xs) {
  in_addr v4;
  in6_addr v6;
  require(inet_pton(AF_INET, xs.address.c_str(), &v4) == 1
            || inet_pton(AF_INET6, xs.address.c_str(), &v6) == 1,
          "http.address", "an IPv4 or IPv6 address, e.g. 127.0.0.1");
  for (const auto& origin : xs.allowed_origins)
    require(origin.starts_with("http://") || origin.starts_with("https://"),
            "http.allowed-origins", "origins like https://app.example");
  require(xs.max_connections >= 1 && xs.max_connections <= 1'000'000,
          "http.max-connections", "1 to 1000000");
  require(xs.max_header_bytes >= 1'024 && xs.max_header_bytes <= 1'048'576,
          "http.max-header-bytes", "1024 to 1048576");
  require(xs.max_body_bytes >= 1'024 && xs.max_body_bytes <= 1'073'741'824,
          "http.max-body-bytes", "1024 to 1073741824");
  require(xs.max_unsent_bytes >= 4'096, "http.max-unsent-bytes",
          "4096 or more");
  require(xs.max_page_size >= 1 && xs.max_page_size <= 10'000,
          "http.max-page-size", "1 to 10000");
  require_between(xs.request_timeout, 10ms, 1h, "http.request-timeout",
                  "10ms to 1h");
  require_between(xs.idle_timeout, 10ms, 24h, "http.idle-timeout",
                  "10ms to 24h");
  require_between(xs.answer_timeout, 10ms, 10min, "http.answer-timeout",
                  "10ms to 10min");
  require_between(xs.max_wait, 0s, 1h, "http.max-wait", "0s to 1h");
}

void validate_retry(const retry_options& xs) {
  require_between(xs.backoff, 1ms, 24h, "retry.backoff", "1ms to 24h");
  require_between(xs.max_backoff, xs.backoff, 24h * 30, "retry.max-backoff",
                  "retry.backoff to 720h");
  require(is_number_between(xs.factor, 1, 10), "retry.factor", "1 to 10");
  require(is_number_between(xs.jitter, 0, 0.5), "retry.jitter", "0 to 0.5");
}

void validate_analysis(const analysis_options& xs) {
  require(is_one_of(xs.provider, {"local", "analysis-server"}),
          "analysis.provider", "local or analysis-server");
  require(xs.url.starts_with("http://") || xs.url.starts_with("https://"),
          "analysis.url", "an http or https URL");
  require_between(xs.connect_timeout, 1ms, 10min, "analysis.connect-timeout",
                  "1ms to 10min");
  require_between(xs.timeout, 1ms, 24h, "analysis.timeout", "1ms to 24h");
  require(xs.max_response_bytes >= 1'024, "analysis.max-response-bytes",
          "1024 or more");
}

void require_url(const std::string& url, const std::string& key) {
  require(url.empty() || url.starts_with("http://")
            || url.starts_with("https://"),
          key, "an http or https URL, or nothing");
}

void require_concurrency(uint32_t value, const std::string& key) {
  require(value >= 1 && value <= 64, key, "1 to 64");
}

void validate_text(const text_options& xs) {
  require(is_one_of(xs.provider, {"local", "anthropic", "openai-compatible"}),
          "text.provider", "local, anthropic or openai-compatible");
  require_url(xs.url, "text.url");
  require(xs.provider != "openai-compatible" || !xs.model.empty(), "text.model",
          "the name of a model of the server");
  require(xs.provider != "anthropic" || !xs.api_key.empty(), "text.api-key",
          "a key of the provider (REEVE_TEXT_API_KEY)");
  require(xs.max_tokens >= 16 && xs.max_tokens <= 1'000'000, "text.max-tokens",
          "16 to 1000000");
  require_concurrency(xs.concurrency, "text.concurrency");
  require_between(xs.connect_timeout, 1ms, 10min, "text.connect-timeout",
                  "1ms to 10min");
  require_between(xs.idle_timeout, 1ms, 1h, "text.idle-timeout", "1ms to 1h");
  require_between(xs.timeout, 1ms, 24h, "text.timeout", "1ms to 24h");
}

void validate_image(const image_options& xs) {
  require(is_one_of(xs.provider, {"local", "gemini"}), "image.provider",
          "local or gemini");
  require_url(xs.url, "image.url");
  require(xs.provider != "gemini" || !xs.api_key.empty(), "image.api-key",
          "a key of the provider (REEVE_IMAGE_API_KEY)");
  require_concurrency(xs.concurrency, "image.concurrency");
  require_between(xs.connect_timeout, 1ms, 10min, "image.connect-timeout",
                  "1ms to 10min");
  require_between(xs.timeout, 1ms, 24h, "image.timeout", "1ms to 24h");
  require(xs.max_response_bytes >= 1'024, "image.max-response-bytes",
          "1024 or more");
}

void validate_gate(const gate_options& xs) {
  require(xs.breaker_failures >= 1 && xs.breaker_failures <= 1'000,
          "gate.breaker-failures", "1 to 1000");
  require_between(xs.breaker_delay, 1ms, 1h, "gate.breaker-delay", "1ms to 1h");
  require_between(xs.breaker_max_delay, xs.breaker_delay, 24h,
                  "gate.breaker-max-delay", "gate.breaker-delay to 24h");
  require_between(xs.throttle_delay, 1ms, 1h, "gate.throttle-delay",
                  "1ms to 1h");
  require_between(xs.longest_wait, 0s, 1h, "gate.longest-wait", "0s to 1h");
}

bool is_configurable_type(std::string_view name) {
  auto is_plain = [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= 100
    && std::all_of(name.begin(), name.end(), is_plain);
}

// A job must still be there when a client asks for its result, and when an
// enqueue whose commit was in doubt is repeated: else it would run again.
void require_retention(caf::timespan value, const std::string& key) {
  require(value == 0s || (value >= 24h && value <= 87'600h), key,
          "0s (for ever), or 24h to 87600h");
}

bool is_built_in(std::string_view name) {
  return is_one_of(name,
                   {"CARD_ANALYSIS", "TIL_GENERATION", "RECALL_GENERATION",
                    "BOOK_GENERATION", "IMAGE_REGEN"});
}

void validate_type(const std::string& name, const type_options& xs) {
  auto key = "types." + name + '.';
  require(is_configurable_type(name), "types." + name,
          "a name of 1 to 100 letters, digits, '-' and '_'");
  require_between(xs.timeout, 1ms, 24h, key + "timeout", "1ms to 24h");
  require(xs.max_attempts >= 1 && xs.max_attempts <= 100, key + "max-attempts",
          "1 to 100");
  require_between(xs.backoff, 0s, 24h, key + "backoff", "0s to 24h");
  require(xs.concurrency <= 64, key + "concurrency", "0 to 64");
  require_retention(xs.retention, key + "retention");
  if (is_built_in(name))
    return;
  require(is_one_of(xs.processor, {"webhook", "command"}), key + "processor",
          "webhook or command");
  require(xs.max_output_bytes >= 1 && xs.max_output_bytes <= 1'073'741'824,
          key + "max-output-bytes", "1 to 1073741824");
  require(is_one_of(xs.addresses, {"public", "any"}), key + "addresses",
          "public or any");
  if (xs.processor == "webhook")
    require(xs.url.starts_with("http://") || xs.url.starts_with("https://"),
            key + "url", "an http or https URL");
  else
    require(!xs.command.empty() && !xs.command.front().empty(), key + "command",
            "a program and its arguments, e.g. [\"tool\"]");
}

} // namespace

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1";
}

void validate(const options& xs) {
  require(xs.workers >= 1 && xs.workers <= 64, "workers", "1 to 64");
  require_between(xs.shutdown_grace, 0s, 1h, "shutdown-grace", "0s to 1h");
  require(is_node_name(xs.node_name), "node.name",
          "1 to 100 letters, digits, '-', '_' and '.'");
  require_between(xs.lease, 1s, 24h, "node.lease", "1s to 24h");
  require_between(xs.poll_interval, 10ms, 1h, "queue.poll-interval",
                  "10ms to 1h");
  require_between(xs.recovery_interval, 100ms, 1h, "queue.recovery-interval",
                  "100ms to 1h");
  require_between(xs.wedged_grace, 0s, 1h, "queue.wedged-grace", "0s to 1h");
  require_retention(xs.retention, "queue.retention");
  validate_http(xs.http);
  validate_retry(xs.retry);
  validate_analysis(xs.analysis);
  require(is_one_of(xs.auth_mode, {"off", "api-key"}), "auth.mode",
          "off or api-key");
  require(xs.auth_mode == "api-key" || is_loopback(xs.http.address),
          "auth.mode",
          "off only on a loopback address: set auth.mode=api-key, or "
          "http.address=127.0.0.1");
  require(is_one_of(xs.log_level, {"debug", "info", "warn", "error"}),
          "log.level", "debug, info, warn or error");
  require(is_one_of(xs.log_format, {"text", "json"}), "log.format",
          "text or json");
  validate_text(xs.text);
  validate_image(xs.image);
  validate_gate(xs.gate);
  require_concurrency(xs.analysis.concurrency, "analysis.concurrency");
  require(!xs.time_zone.empty(), "san.time-zone", "an IANA zone, e.g. UTC");
  for (const auto& [name, type] : xs.types())
    validate_type(name, type);
}

} // namespace reeve
