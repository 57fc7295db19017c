// net/response_writer.cpp -- the head of a response as bytes.
#include "net/response_writer.hpp"

#include "net/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

namespace reeve::net {

namespace {

bool is_ours(std::string_view name) {
  return iequals(name, "content-length") || iequals(name, "connection")
    || iequals(name, "transfer-encoding") || iequals(name, "date")
    || iequals(name, "keep-alive");
}

void append_field(std::string& out, std::string_view name,
                  std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

void append_number(std::string& out, size_t x) {
  std::array<char, 24> digits;
  auto end = std::to_chars(digits.begin(), digits.end(), x).ptr;
  out.append(digits.begin(), end);
}

// Made anew once a second.
std::string_view date_of(std::time_t now) {
  thread_local std::time_t when = now;
  thread_local std::string text = http_date(now);
  if (when != now) {
    when = now;
    text = http_date(now);
  }
  return text;
}

} // namespace

bool is_sendable(const http_response& response) {
  return response.status >= 200 && response.status <= 599
    && std::all_of(response.headers.begin(), response.headers.end(),
                   [](const auto& x) {
                     return is_token(x.first) && is_field_value(x.second);
                   });
}

void append_head(std::string& out, const http_response& response,
                 const framing& how) {
  out += "HTTP/1.1 ";
  append_number(out, static_cast<size_t>(response.status));
  out += ' ';
  out.append(reason_phrase(response.status)).append("\r\n");
  append_field(out, "Date", date_of(how.now));
  for (const auto& [name, value] : response.headers)
    if (!is_ours(name))
      append_field(out, name, value);
  if (how.content_length) {
    out += "Content-Length: ";
    append_number(out, *how.content_length);
    out += "\r\n";
  }
  if (!how.connection.empty())
    append_field(out, "Connection", how.connection);
  out += "\r\n";
}

std::string http_date(std::time_t time) {
  constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                              "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm utc{};
  if (gmtime_r(&time, &utc) == nullptr)
    return "Thu, 01 Jan 1970 00:00:00 GMT";
  // strftime would use the locale's names.
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(),
                "%s, %02d %s %04d %02d:%02d:%02d GMT", days[utc.tm_wday],
                utc.tm_mday, months[utc.tm_mon], utc.tm_year + 1900,
                utc.tm_hour, utc.tm_min, utc.tm_sec);
  return buffer.data();
}

bool has_body(int status) noexcept {
  return status != 204 && status != 304;
}

} // namespace reeve::net
