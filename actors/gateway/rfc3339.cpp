// actors/gateway/rfc3339.cpp -- the calendar is std::chrono's; the digits are
// ours, since the C++20 parser is missing from the compilers we support.
#include "actors/gateway/rfc3339.hpp"

#include <cstdio>

namespace reeve {

namespace {

using namespace std::chrono;

// Writes exactly `width` digits and moves `out` behind them.
void put(char*& out, unsigned value, size_t width) {
  for (size_t i = width; i > 0; --i) {
    out[i - 1] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
  out += width;
}

// Reads exactly `width` digits at the front of `text`.
std::optional<int> digits(std::string_view& text, size_t width) {
  if (text.size() < width)
    return {};
  int result = 0;
  for (char c : text.substr(0, width)) {
    if (c < '0' || c > '9')
      return {};
    result = result * 10 + (c - '0');
  }
  text.remove_prefix(width);
  return result;
}

bool skip(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected)
    return false;
  text.remove_prefix(1);
  return true;
}

std::optional<microseconds> fraction(std::string_view& text) {
  if (!skip(text, '.'))
    return microseconds{0};
  int64_t result = 0;
  size_t count = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    if (++count > 9)
      return {};
    if (count <= 6)
      result = result * 10 + (text.front() - '0');
    text.remove_prefix(1);
  }
  if (count == 0)
    return {};
  for (; count < 6; ++count)
    result *= 10;
  return microseconds{result};
}

std::optional<minutes> offset(std::string_view& text) {
  if (skip(text, 'Z') || skip(text, 'z'))
    return minutes{0};
  auto negative = !text.empty() && text.front() == '-';
  if (!skip(text, negative ? '-' : '+'))
    return {};
  auto h = digits(text, 2);
  if (!h || !skip(text, ':'))
    return {};
  auto m = digits(text, 2);
  if (!m || *h > 23 || *m > 59)
    return {};
  auto result = hours{*h} + minutes{*m};
  return negative ? -result : result;
}

} // namespace

rfc3339_text::rfc3339_text(timestamp x) {
  auto whole = floor<milliseconds>(x);
  auto day = floor<days>(whole);
  year_month_day date{day};
  hh_mm_ss time{whole - day};
  auto* out = buffer_.data();
  auto y = static_cast<int>(date.year());
  // Years of more digits have no spelling in RFC 3339, but must have one here.
  if (y < 0 || y > 9'999)
    out += std::snprintf(out, 16, "%04d", y);
  else
    put(out, static_cast<unsigned>(y), 4);
  *out++ = '-';
  put(out, static_cast<unsigned>(date.month()), 2);
  *out++ = '-';
  put(out, static_cast<unsigned>(date.day()), 2);
  *out++ = 'T';
  put(out, static_cast<unsigned>(time.hours().count()), 2);
  *out++ = ':';
  put(out, static_cast<unsigned>(time.minutes().count()), 2);
  *out++ = ':';
  put(out, static_cast<unsigned>(time.seconds().count()), 2);
  *out++ = '.';
  put(out, static_cast<unsigned>(time.subseconds().count()), 3);
  *out++ = 'Z';
  size_ = static_cast<size_t>(out - buffer_.data());
}

std::optional<timestamp> from_rfc3339(std::string_view text) {
  auto y = digits(text, 4);
  if (!y || !skip(text, '-'))
    return {};
  auto mo = digits(text, 2);
  if (!mo || !skip(text, '-'))
    return {};
  auto d = digits(text, 2);
  if (!d || !(skip(text, 'T') || skip(text, 't')))
    return {};
  auto h = digits(text, 2);
  if (!h || !skip(text, ':'))
    return {};
  auto mi = digits(text, 2);
  if (!mi || !skip(text, ':'))
    return {};
  auto s = digits(text, 2);
  if (!s)
    return {};
  auto sub = fraction(text);
  if (!sub)
    return {};
  auto shift = offset(text);
  if (!shift || !text.empty())
    return {};
  year_month_day date{year{*y}, month{static_cast<unsigned>(*mo)},
                      day{static_cast<unsigned>(*d)}};
  if (!date.ok() || *h > 23 || *mi > 59 || *s > 59)
    return {};
  return timestamp{sys_days{date}} + hours{*h} + minutes{*mi} + seconds{*s}
  + *sub - *shift;
}

} // namespace reeve
