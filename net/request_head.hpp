// net/request_head.hpp -- the request line and the fields, checked more
// strictly than Boost.Beast does before it gets to see them.
#pragma once

#include "net/connection.hpp"
#include "net/http.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace reeve::net {

/// Why a request is answered and the connection closed. `code` ends the
/// problem's type.
struct refusal {
  int status;
  std::string_view code;
  std::string detail;
};

/// 400, the usual one.
refusal malformed(std::string detail);

/// A field line without its line end: fold, name, colon, value.
std::optional<refusal> check_field_line(std::string_view line);

/// Finds the end of a head as its bytes come in. Every verdict depends on the
/// bytes alone, never on how they were split.
class head_scanner {
public:
  explicit head_scanner(const connection_limits& limits) : limits_(&limits) {
    // nop
  }

  /// `buffer` starts at the head's first byte and has grown since last time.
  std::optional<refusal> scan(std::string_view buffer);

  /// The head's size with the empty line; none while it is incomplete.
  std::optional<size_t> size() const noexcept {
    return size_;
  }

  /// Where the request line starts: one empty line before it is tolerated.
  size_t start() const noexcept {
    return start_;
  }

private:
  std::optional<refusal> take(std::string_view buffer, char c);
  std::optional<refusal> check_target_size();
  std::optional<refusal> end_line(std::string_view line);

  const connection_limits* limits_;
  size_t position_ = 0;
  size_t line_start_ = 0;
  size_t start_ = 0;
  size_t lines_ = 0;
  size_t spaces_ = 0;
  size_t target_start_ = 0;
  bool after_cr_ = false;
  std::optional<size_t> size_;
};

/// What the head says about the message behind it.
struct request_head {
  /// Complete but for the body.
  http_request request;
  bool chunked = false;
  uint64_t content_length = 0;
  bool keep_alive = true;
  bool expects_continue = false;
};

/// `raw` is what a `head_scanner` accepted, from `start()` on.
std::variant<request_head, refusal> parse_head(std::string_view raw,
                                               const connection_limits& limits);

} // namespace reeve::net
