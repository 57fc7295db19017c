// net/body_reader.hpp -- where a request's body ends, by Content-Length or in
// chunks (RFC 9112, sections 6 and 7).
#pragma once

#include "net/request_head.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reeve::net {

/// Reads one body. Chunks are decoded here because Beast 1.74 asserts on
/// `0 CR LF` that arrives before the rest of the last chunk, bounds neither
/// chunk extensions nor trailers, and takes trailers for header fields.
class body_reader {
public:
  /// Of a known length, checked against the limit by `parse_head`.
  explicit body_reader(uint64_t length) : left_(length) {
    // nop
  }

  /// In chunks of at most `max_bytes` together; sizes, extensions and trailers
  /// take at most `max_overhead` besides (without the frames of chunks).
  body_reader(size_t max_bytes, size_t max_overhead)
    : chunked_(true),
      state_(state::size),
      max_bytes_(max_bytes),
      max_overhead_(max_overhead) {
    // nop
  }

  /// Appends to `body` what belongs to it and takes that off `input`.
  std::optional<refusal> read(std::string_view& input, std::string& body);

  bool done() const noexcept {
    return chunked_ ? state_ == state::done : left_ == 0;
  }

private:
  enum class state {
    size,
    extension,
    size_lf,
    data,
    data_cr,
    data_lf,
    trailer,
    trailer_lf,
    done,
  };

  void take_data(std::string_view& input, std::string& body);
  std::optional<refusal> take(char c, size_t body_size);
  std::optional<refusal> take_size(char c);
  std::optional<refusal> take_extension(char c);
  std::optional<refusal> end_size_line(size_t body_size);
  std::optional<refusal> take_trailer(char c);
  std::optional<refusal> end_trailer();
  std::optional<refusal> spend_overhead();

  bool chunked_ = false;
  state state_ = state::data;
  uint64_t left_ = 0;
  size_t max_bytes_ = 0;
  size_t max_overhead_ = 0;
  size_t overhead_ = 0;
  size_t digits_ = 0;
  std::string trailer_;
};

} // namespace reeve::net
