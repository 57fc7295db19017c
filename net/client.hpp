// net/client.hpp -- HTTP requests to other services, over libcurl.
#pragma once

#include "net/http.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace reeve::net {

struct client_request {
  std::string method = "POST";
  /// http or https; anything else is `bad_request`. Redirects are answers
  /// here, never followed.
  std::string url;
  /// Names and values without CR, LF or NUL, else `bad_request`.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::chrono::milliseconds connect_timeout{5'000};
  /// From the call to the last byte of the answer.
  std::chrono::milliseconds total_timeout{120'000};
  /// A longer body is `too_large`; reading stops there.
  size_t max_response_bytes = 8 * 1024 * 1024;
  /// Connected, but no byte came for so long: `timeout`. 0: no such limit.
  std::chrono::milliseconds idle_timeout{0};
  /// Hears the body of a 2xx answer piece by piece, on the calling thread, and
  /// the answer then has none; false ends the request as `cancelled`.
  std::function<bool(std::string_view piece)> on_body;
  /// Refuses addresses that are not public (loopback, private, link-local,
  /// shared, multicast, documentation, and IPv6 forms that hold such an IPv4
  /// address) as `forbidden_address`. What counts is the address of the
  /// connection itself, whatever the name resolved to before.
  bool public_addresses_only = false;
};

enum class client_error : uint8_t {
  /// No connection: refused, no route, name not found, TLS failed, or none in
  /// time. Nobody heard the request.
  unreachable,
  /// Connected, then cut before the answer was complete.
  cut_off,
  /// Connected, but no complete answer in time.
  timeout,
  too_large,
  /// The caller's stop token fired.
  cancelled,
  bad_request,
  /// See `public_addresses_only`.
  forbidden_address,
};

struct client_failure {
  client_error code;
  /// For people; no credentials in it (user info in the URL is left out).
  std::string message;
};

/// Sends one request and waits for the answer; blocks. Returns within a
/// quarter of a second once `stop` fires. Proxy variables in the environment
/// are ignored. Thread-safe.
std::variant<http_response, client_failure> send(const client_request& request,
                                                 std::stop_token stop);

/// `Retry-After` (RFC 9110, section 10.2.3) in seconds or as a date, from now;
/// none when absent or malformed. Clamped to [0 s, 24 h].
std::optional<std::chrono::milliseconds> retry_after(
  const http_response& response, std::chrono::system_clock::time_point now);

} // namespace reeve::net
