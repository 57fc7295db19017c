// processors/ai/rate_fields.cpp -- the rate limits in providers' responses.
#include "processors/ai/rate_fields.hpp"

#include "net/text.hpp"
#include "processors/ai/http_failure.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace reeve {

namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

constexpr milliseconds longest = std::chrono::hours{24};

std::optional<int64_t> number(std::string_view text) {
  int64_t result = 0;
  text = net::trim(text);
  auto [end, err] =
    std::from_chars(text.data(), text.data() + text.size(), result);
  if (!net::is_digits(text) || err != std::errc{}
      || end != text.data() + text.size())
    return std::nullopt;
  return result;
}

// A bucket needs its limit and what remains; without a reset it is thought to
// be full again at once.
template <class Reset>
std::optional<rate_limit> bucket(const net::http_response& response,
                                 const std::string& limit,
                                 const std::string& remaining,
                                 const std::string& reset, Reset parse) {
  auto read = [&response](const std::string& name) {
    auto text = field_of(response, name);
    return text ? number(*text) : std::nullopt;
  };
  auto most = read(limit);
  auto left = read(remaining);
  if (!most || !left)
    return std::nullopt;
  rate_limit result{*most, *left, milliseconds{0}};
  if (auto text = field_of(response, reset))
    result.reset = parse(*text).value_or(milliseconds{0});
  return result;
}

} // namespace

rate_limits anthropic_limits(const net::http_response& response,
                             system_clock::time_point now) {
  auto until = [now](const std::string& text) -> std::optional<milliseconds> {
    auto then = parse_instant(net::trim(text));
    if (!then)
      return std::nullopt;
    return std::clamp(std::chrono::ceil<milliseconds>(*then - now),
                      milliseconds{0}, longest);
  };
  auto read = [&](const std::string& what) {
    auto name = "anthropic-ratelimit-" + what;
    return bucket(response, name + "-limit", name + "-remaining",
                  name + "-reset", until);
  };
  rate_limits result{read("requests"), read("input-tokens"),
                     read("output-tokens")};
  if (!result.input_tokens)
    result.input_tokens = read("tokens");
  return result;
}

rate_limits openai_limits(const net::http_response& response) {
  auto after = [](const std::string& text) {
    return parse_duration(net::trim(text));
  };
  auto read = [&](const std::string& what) {
    return bucket(response, "x-ratelimit-limit-" + what,
                  "x-ratelimit-remaining-" + what, "x-ratelimit-reset-" + what,
                  after);
  };
  return {read("requests"), read("tokens"), std::nullopt};
}

std::optional<milliseconds> parse_duration(std::string_view text) {
  // In microseconds, so that `1.5ms` is not lost; doubles are exact enough.
  double result = 0;
  if (text.empty())
    return std::nullopt;
  while (!text.empty()) {
    auto digits = std::min(text.find_first_not_of("0123456789."), text.size());
    double value = 0;
    auto [end, err] = std::from_chars(text.data(), text.data() + digits, value,
                                      std::chars_format::fixed);
    if (digits == 0 || err != std::errc{} || end != text.data() + digits)
      return std::nullopt;
    text.remove_prefix(digits);
    auto letters = std::min(text.find_first_of("0123456789."), text.size());
    auto unit = text.substr(0, letters);
    text.remove_prefix(letters);
    auto is_bare = unit.empty() && result == 0;
    if (unit == "ms")
      result += value;
    else if (unit == "s" || is_bare)
      result += value * 1'000;
    else if (unit == "m")
      result += value * 60'000;
    else if (unit == "h")
      result += value * 3'600'000;
    else if (unit == "d")
      result += value * 86'400'000;
    else if (unit == "us" || unit == "µs")
      result += value / 1'000;
    else if (unit == "ns")
      result += value / 1'000'000;
    else
      return std::nullopt;
  }
  if (result >= static_cast<double>(longest.count()))
    return longest;
  // Upwards: who comes a moment too early is refused again.
  auto whole = milliseconds{static_cast<int64_t>(result)};
  return static_cast<double>(whole.count()) < result ? whole + milliseconds{1}
                                                     : whole;
}

std::optional<system_clock::time_point> parse_instant(std::string_view text) {
  using namespace std::chrono;
  auto take = [&text](size_t digits) -> std::optional<int> {
    auto part = number(text.substr(0, digits));
    if (!part || text.size() < digits)
      return std::nullopt;
    text.remove_prefix(digits);
    return static_cast<int>(*part);
  };
  auto skip = [&text](std::string_view any) {
    if (text.empty() || any.find(text.front()) == std::string_view::npos)
      return false;
    text.remove_prefix(1);
    return true;
  };
  auto y = take(4);
  auto mo = y && skip("-") ? take(2) : std::nullopt;
  auto d = mo && skip("-") ? take(2) : std::nullopt;
  auto h = d && skip("Tt ") ? take(2) : std::nullopt;
  auto mi = h && skip(":") ? take(2) : std::nullopt;
  auto s = mi && skip(":") ? take(2) : std::nullopt;
  if (!s)
    return std::nullopt;
  milliseconds fraction{0};
  if (skip(".")) {
    auto scale = 100;
    auto any = false;
    for (; !text.empty() && net::is_digits(text.substr(0, 1)); any = true) {
      fraction += milliseconds{scale * (text.front() - '0')};
      scale /= 10;
      text.remove_prefix(1);
    }
    if (!any)
      return std::nullopt;
  }
  minutes offset{0};
  if (text == "Z" || text == "z") {
    text = {};
  } else {
    auto west = text.starts_with('-');
    auto oh = skip("+-") ? take(2) : std::nullopt;
    auto om = oh && skip(":") ? take(2) : std::nullopt;
    if (!om || *oh > 23 || *om > 59)
      return std::nullopt;
    offset = (west ? -1 : 1) * (hours{*oh} + minutes{*om});
  }
  year_month_day date{year{*y}, month{static_cast<unsigned>(*mo)},
                      day{static_cast<unsigned>(*d)}};
  if (!text.empty() || !date.ok() || *h > 23 || *mi > 59 || *s > 60)
    return std::nullopt;
  return sys_days{date} + hours{*h} + minutes{*mi} + seconds{*s} + fraction
    - offset;
}

} // namespace reeve
