// actors/gateway/days.cpp -- calendar days by ICU's time zones.
#include "actors/gateway/days.hpp"

#include "net/text.hpp"

#include <unicode/gregocal.h>
#include <unicode/timezone.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>

namespace reeve {

namespace {

using namespace std::chrono;

// ICU also knows the abbreviations of old Java versions: `IST` there is
// India's time, and Israel's and Ireland's elsewhere.
constexpr std::array<std::string_view, 13> iana_abbreviations{
  "CET", "EET", "EST", "GMT", "HST", "MET", "MST",
  "PRC", "ROC", "ROK", "UCT", "UTC", "WET"};

void check(UErrorCode status) {
  if (U_FAILURE(status))
    throw std::runtime_error(std::string{"ICU: "} + u_errorName(status));
}

icu::UnicodeString in_icu(std::string_view text) {
  return icu::UnicodeString::fromUTF8(
    icu::StringPiece{text.data(), static_cast<int32_t>(text.size())});
}

// The first instant of a day: where midnight does not exist it is what the
// clocks jump to, where it comes twice it is the first one.
timestamp start_of(year_month_day date, std::string_view zone) {
  UErrorCode status = U_ZERO_ERROR;
  std::unique_ptr<icu::TimeZone> rules{
    icu::TimeZone::createTimeZone(in_icu(zone))};
  icu::GregorianCalendar calendar{*rules, icu::Locale::getRoot(), status};
  check(status);
  calendar.setSkippedWallTimeOption(UCAL_WALLTIME_NEXT_VALID);
  calendar.setRepeatedWallTimeOption(UCAL_WALLTIME_FIRST);
  calendar.clear();
  calendar.set(static_cast<int>(date.year()),
               static_cast<int32_t>(static_cast<unsigned>(date.month())) - 1,
               static_cast<int32_t>(static_cast<unsigned>(date.day())), 0, 0,
               0);
  auto instant = calendar.getTime(status);
  check(status);
  return timestamp{milliseconds{static_cast<int64_t>(instant)}};
}

} // namespace

std::optional<year_month_day> parse_date(std::string_view text) {
  auto y = text.substr(0, 4);
  if (text.size() != 10 || text[4] != '-' || text[7] != '-'
      || !net::is_digits(y) || !net::is_digits(text.substr(5, 2))
      || !net::is_digits(text.substr(8, 2)))
    return {};
  auto number = [text](size_t position, size_t width) {
    return std::stoi(std::string{text.substr(position, width)});
  };
  year_month_day result{year{number(0, 4)},
                        month{static_cast<unsigned>(number(5, 2))},
                        day{static_cast<unsigned>(number(8, 2))}};
  if (!result.ok() || result.year() < year{1900} || result.year() > year{9998})
    return {};
  return result;
}

bool is_time_zone(std::string_view name) {
  auto is_plain = [](char c) { return c > ' ' && c < 0x7f; };
  if (name.empty() || name.size() > 64
      || !std::all_of(name.begin(), name.end(), is_plain))
    return false;
  if (name.size() == 3
      && std::find(iana_abbreviations.begin(), iana_abbreviations.end(), name)
        == iana_abbreviations.end())
    return false;
  UErrorCode status = U_ZERO_ERROR;
  UBool is_system = false;
  icu::UnicodeString canonical;
  icu::TimeZone::getCanonicalID(in_icu(name), canonical, is_system, status);
  return U_SUCCESS(status) && is_system;
}

std::optional<day_span> span_of(year_month_day date, std::string_view zone) {
  day_span result{start_of(date, zone),
                  start_of(sys_days{date} + days{1}, zone)};
  if (result.start >= result.end)
    return {};
  return result;
}

} // namespace reeve
