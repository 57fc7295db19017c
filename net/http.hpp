// net/http.hpp -- HTTP requests and responses as the rest of the node sees
// them. Bytes become these in net/connection, and these become bytes there.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reeve::net {

/// A parsed request. Every text in it but the body is valid UTF-8 without
/// U+0000.
struct http_request {
  /// As sent, e.g. `GET`; methods are case-sensitive. HEAD stays HEAD; the
  /// connection drops the body.
  std::string method;
  /// As sent, e.g. `/api/jobs?limit=5`, without scheme and authority, which
  /// become the field `host`. `*` has no segments.
  std::string target;
  /// The percent-decoded path split at `/`: `/api/jobs/x%2Fy` is
  /// {"api", "jobs", "x/y"}; `/` is empty.
  std::vector<std::string> segments;
  /// Percent-decoded, in order; `+` is a space.
  std::vector<std::pair<std::string, std::string>> query;
  /// Names in lower case. A repeated field is joined with `, `.
  std::map<std::string, std::string, std::less<>> headers;
  std::string body;

  std::optional<std::string_view> header(std::string_view lower_name) const;
};

struct http_response {
  int status = 200;
  /// Content-Length, Connection and Date are added by the connection; those in
  /// here are left out. Control characters in one make it a 500.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

/// The reason phrase of RFC 9110 for a status, e.g. `Not Found`.
std::string_view reason_phrase(int status);

} // namespace reeve::net
