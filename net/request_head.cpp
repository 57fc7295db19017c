// net/request_head.cpp -- the request line and the fields, checked more
// strictly than Boost.Beast does before it gets to see them.
#include "net/request_head.hpp"

#include "net/target.hpp"
#include "net/text.hpp"

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

#include <charconv>

namespace reeve::net {

namespace {

namespace http = boost::beast::http;

constexpr size_t max_method_bytes = 32;

using parser = http::request_parser<http::empty_body>;

std::string_view view(boost::beast::string_view x) {
  return {x.data(), x.size()};
}

std::optional<refusal> check_request_line(std::string_view line) {
  auto method_end = line.find(' ');
  if (method_end == std::string_view::npos)
    return malformed("the request line must be `METHOD target HTTP/1.1`");
  if (!is_token(line.substr(0, method_end)) || method_end > max_method_bytes)
    return malformed("the method must be a token of at most "
                     + std::to_string(max_method_bytes) + " characters");
  auto target_end = line.find(' ', method_end + 1);
  if (target_end == std::string_view::npos || target_end == method_end + 1)
    return malformed("the request line must be `METHOD target HTTP/1.1` with "
                     "single spaces");
  auto version = line.substr(target_end + 1);
  if (version == "HTTP/1.1" || version == "HTTP/1.0")
    return std::nullopt;
  if (version.size() == 8 && version.substr(0, 5) == "HTTP/"
      && is_digits(version.substr(5, 1)) && version[6] == '.'
      && is_digits(version.substr(7, 1)))
    return refusal{505, "http_version_not_supported",
                   "this server speaks HTTP/1.1 and HTTP/1.0"};
  return malformed("the request line must end in HTTP/1.1 or HTTP/1.0");
}

// The framing of a message, counted by field line: Beast keeps the lines
// apart, but accepts more than one reading of some.
std::optional<refusal> read_framing(const parser::value_type& message,
                                    const connection_limits& limits,
                                    request_head& head) {
  auto lengths = message.count(http::field::content_length);
  auto codings = message.count(http::field::transfer_encoding);
  if (lengths > 1 || codings > 1)
    return malformed("Content-Length and Transfer-Encoding may occur once");
  if (lengths > 0 && codings > 0)
    return malformed("Content-Length and Transfer-Encoding exclude each other");
  if (codings > 0) {
    auto coding = to_lower(view(message[http::field::transfer_encoding]));
    if (message.version() < 11)
      return malformed("HTTP/1.0 has no Transfer-Encoding");
    if (coding == "chunked") {
      head.chunked = true;
      return std::nullopt;
    }
    if (coding.find("chunked") == 0 || !is_token(coding.substr(0, 1)))
      return malformed("Transfer-Encoding must be exactly `chunked`");
    return refusal{501, "not_implemented",
                   "the only Transfer-Encoding known here is `chunked`"};
  }
  if (lengths == 0)
    return std::nullopt;
  auto text = view(message[http::field::content_length]);
  auto [end, err] = std::from_chars(text.data(), text.data() + text.size(),
                                    head.content_length);
  if (!is_digits(text) || err != std::errc{}
      || end != text.data() + text.size())
    return malformed("Content-Length must be decimal digits, below 2^64");
  if (head.content_length > limits.body_bytes)
    return refusal{413, "content_too_large",
                   "the body may have at most "
                     + std::to_string(limits.body_bytes) + " bytes"};
  return std::nullopt;
}

std::optional<refusal> read_fields(const parser::value_type& message,
                                   http_request& request) {
  auto hosts = message.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && message.version() >= 11))
    return malformed("exactly one Host field is required");
  if (hosts == 1 && !is_authority(view(message[http::field::host])))
    return malformed("Host must be `host` or `host:port`");
  for (const auto& x : message) {
    auto value = view(x.value());
    if (invalid_utf8(value) != std::string_view::npos)
      return malformed("field values must be UTF-8");
    auto [i, added] =
      request.headers.emplace(to_lower(view(x.name_string())), value);
    if (!added)
      i->second.append(", ").append(value);
  }
  return std::nullopt;
}

bool has_option(std::string_view list, std::string_view option) {
  while (!list.empty()) {
    auto comma = std::min(list.find(','), list.size());
    if (iequals(trim(list.substr(0, comma)), option))
      return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

std::optional<refusal> read_options(const parser::value_type& message,
                                    request_head& head) {
  auto options = head.request.header("connection").value_or("");
  auto is_11 = message.version() >= 11;
  head.keep_alive = !has_option(options, "close")
    && (is_11 || has_option(options, "keep-alive"));
  auto expect = head.request.header("expect");
  if (!expect || !is_11)
    return std::nullopt;
  if (!iequals(*expect, "100-continue"))
    return refusal{417, "expectation_failed",
                   "the only Expect known here is `100-continue`"};
  head.expects_continue = true;
  return std::nullopt;
}

} // namespace

refusal malformed(std::string detail) {
  return {400, "bad_request", std::move(detail)};
}

std::optional<refusal> check_field_line(std::string_view line) {
  if (line.front() == ' ' || line.front() == '\t')
    return malformed("a field must not be folded over several lines");
  auto colon = line.find(':');
  if (colon == std::string_view::npos)
    return malformed("a field must be `name: value`");
  if (!is_token(line.substr(0, colon)))
    return malformed("a field's name must be a token with the colon right "
                     "behind it");
  if (!is_field_value(line.substr(colon + 1)))
    return malformed("a field's value must not have control characters");
  return std::nullopt;
}

std::optional<refusal> head_scanner::scan(std::string_view buffer) {
  while (!size_ && position_ < buffer.size()) {
    if (auto err = take(buffer, buffer[position_]))
      return err;
    ++position_;
    if (!size_ && position_ - start_ >= limits_->header_bytes)
      return refusal{431, "header_fields_too_large",
                     "request line and fields may have at most "
                       + std::to_string(limits_->header_bytes) + " bytes"};
  }
  return std::nullopt;
}

std::optional<refusal> head_scanner::take(std::string_view buffer, char c) {
  if (after_cr_ != (c == '\n'))
    return malformed("lines must end in CR LF");
  if (c == '\r') {
    after_cr_ = true;
    return std::nullopt;
  }
  if (c == '\n') {
    after_cr_ = false;
    auto line = buffer.substr(line_start_, position_ - 1 - line_start_);
    line_start_ = position_ + 1;
    return end_line(line);
  }
  auto u = static_cast<unsigned char>(c);
  if (lines_ > 0) {
    if ((u < 0x20 && c != '\t') || u == 0x7f)
      return malformed("control characters are not allowed in fields");
    return std::nullopt;
  }
  if (u < 0x20 || u >= 0x7f)
    return malformed("the request line must be visible ASCII characters");
  if (c != ' ')
    return check_target_size();
  if (++spaces_ == 1)
    target_start_ = position_ + 1;
  return std::nullopt;
}

std::optional<refusal> head_scanner::check_target_size() {
  if (spaces_ == 0 && position_ - line_start_ >= max_method_bytes)
    return malformed("the method must be a token of at most "
                     + std::to_string(max_method_bytes) + " characters");
  if (spaces_ == 1 && position_ - target_start_ >= limits_->target_bytes)
    return refusal{414, "uri_too_long",
                   "the target may have at most "
                     + std::to_string(limits_->target_bytes) + " bytes"};
  return std::nullopt;
}

std::optional<refusal> head_scanner::end_line(std::string_view line) {
  if (lines_ == 0) {
    // Some clients send CR LF after a body; RFC 9112, section 2.2.
    if (line.empty() && start_ == 0) {
      start_ = line_start_;
      return std::nullopt;
    }
    ++lines_;
    return check_request_line(line);
  }
  if (line.empty()) {
    size_ = line_start_;
    return std::nullopt;
  }
  if (lines_++ > limits_->header_fields)
    return refusal{431, "header_fields_too_large",
                   "a request may have at most "
                     + std::to_string(limits_->header_fields) + " fields"};
  return check_field_line(line);
}

std::variant<request_head, refusal> parse_head(
  std::string_view raw, const connection_limits& limits) {
  parser codec;
  codec.header_limit(static_cast<uint32_t>(raw.size()) + 1);
  codec.body_limit(boost::none);
  codec.skip(true); // the body is read by body_reader
  boost::beast::error_code err;
  codec.put(boost::asio::buffer(raw.data(), raw.size()), err);
  if (err || !codec.is_header_done())
    return malformed("the request cannot be read: " + err.message());
  const auto& message = codec.get();
  request_head head;
  head.request.method = view(message.method_string());
  if (auto err = read_fields(message, head.request))
    return *err;
  if (auto err = read_framing(message, limits, head))
    return *err;
  if (head.request.method == "CONNECT")
    return refusal{501, "not_implemented", "CONNECT is not supported here"};
  if (auto err = parse_target(view(message.target()), head.request))
    return malformed(std::move(*err));
  if (auto err = read_options(message, head))
    return *err;
  return head;
}

} // namespace reeve::net
