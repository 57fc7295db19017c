// net/response_writer.hpp -- the head of a response as bytes.
#pragma once

#include "net/http.hpp"

#include <cstddef>
#include <ctime>
#include <optional>
#include <string>

namespace reeve::net {

/// False for a status outside [200, 599], a name that is no token, or a value
/// that could end its line: such a response must not be sent.
bool is_sendable(const http_response& response);

struct framing {
  /// None for a body that ends with the connection.
  std::optional<size_t> content_length;
  /// Value of `Connection`; empty for none.
  std::string_view connection;
  std::time_t now;
};

/// Appends status line, fields and the empty line. Framing fields and Date in
/// `response` are left out: they are given by `how`.
void append_head(std::string& out, const http_response& response,
                 const framing& how);

/// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).
std::string http_date(std::time_t time);

/// False for the statuses that end with their head: 204 and 304.
bool has_body(int status) noexcept;

} // namespace reeve::net
