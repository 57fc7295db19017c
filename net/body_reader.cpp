// net/body_reader.cpp -- where a request's body ends, by Content-Length or in
// chunks.
#include "net/body_reader.hpp"

#include "net/text.hpp"

#include <algorithm>

namespace reeve::net {

namespace {

constexpr size_t max_size_digits = 16;

refusal bad_line_end() {
  return malformed("chunks and their lines must end in CR LF");
}

} // namespace

std::optional<refusal> body_reader::read(std::string_view& input,
                                         std::string& body) {
  while (!done() && !input.empty()) {
    if (state_ == state::data) {
      take_data(input, body);
      continue;
    }
    if (auto err = take(input.front(), body.size()))
      return err;
    input.remove_prefix(1);
  }
  return std::nullopt;
}

void body_reader::take_data(std::string_view& input, std::string& body) {
  auto n = static_cast<size_t>(std::min<uint64_t>(left_, input.size()));
  body.append(input.substr(0, n));
  input.remove_prefix(n);
  left_ -= n;
  if (left_ == 0 && chunked_)
    state_ = state::data_cr;
}

std::optional<refusal> body_reader::take(char c, size_t body_size) {
  switch (state_) {
    case state::size:
      return take_size(c);
    case state::extension:
      return take_extension(c);
    case state::size_lf:
      return c == '\n' ? end_size_line(body_size) : bad_line_end();
    case state::data_cr:
      state_ = state::data_lf;
      return c == '\r' ? std::nullopt : std::optional{bad_line_end()};
    case state::data_lf:
      state_ = state::size;
      digits_ = 0;
      return c == '\n' ? std::nullopt : std::optional{bad_line_end()};
    case state::trailer:
      return take_trailer(c);
    case state::trailer_lf:
      return c == '\n' ? end_trailer() : bad_line_end();
    case state::data:
    case state::done:
      break;
  }
  return std::nullopt;
}

std::optional<refusal> body_reader::take_size(char c) {
  unsigned digit = 0;
  if (c >= '0' && c <= '9')
    digit = c - '0';
  else if (c >= 'a' && c <= 'f')
    digit = c - 'a' + 10;
  else if (c >= 'A' && c <= 'F')
    digit = c - 'A' + 10;
  else if (digits_ == 0)
    return malformed("a chunk must start with its size in hexadecimal digits");
  else if (c == '\r' || c == ';') {
    state_ = c == ';' ? state::extension : state::size_lf;
    return std::nullopt;
  } else
    return malformed("a chunk's size must be hexadecimal digits, then CR LF "
                     "or `;`");
  if (++digits_ > max_size_digits)
    return malformed("a chunk's size may have at most 16 digits");
  left_ = left_ * 16 + digit;
  return std::nullopt;
}

std::optional<refusal> body_reader::take_extension(char c) {
  if (c == '\r') {
    state_ = state::size_lf;
    return std::nullopt;
  }
  if (!is_field_value({&c, 1}))
    return malformed("control characters are not allowed behind a chunk's "
                     "size");
  return spend_overhead();
}

std::optional<refusal> body_reader::end_size_line(size_t body_size) {
  if (left_ > max_bytes_ - body_size)
    return refusal{413, "content_too_large",
                   "the body may have at most " + std::to_string(max_bytes_)
                     + " bytes"};
  state_ = left_ == 0 ? state::trailer : state::data;
  return std::nullopt;
}

std::optional<refusal> body_reader::take_trailer(char c) {
  if (c == '\r') {
    state_ = state::trailer_lf;
    return std::nullopt;
  }
  if (!is_field_value({&c, 1}))
    return malformed("control characters are not allowed in trailer fields");
  trailer_ += c;
  return spend_overhead();
}

// Trailers are checked as fields are, and dropped.
std::optional<refusal> body_reader::end_trailer() {
  if (trailer_.empty()) {
    state_ = state::done;
    return std::nullopt;
  }
  if (auto err = check_field_line(trailer_))
    return err;
  auto name = to_lower(trailer_.substr(0, trailer_.find(':')));
  if (name == "content-length" || name == "transfer-encoding" || name == "host")
    return malformed("the field " + name + " is not allowed in a trailer");
  trailer_.clear();
  state_ = state::trailer;
  return std::nullopt;
}

std::optional<refusal> body_reader::spend_overhead() {
  if (++overhead_ > max_overhead_)
    return refusal{431, "header_fields_too_large",
                   "chunk extensions and trailers may have at most "
                     + std::to_string(max_overhead_) + " bytes together"};
  return std::nullopt;
}

} // namespace reeve::net
