// actors/gateway/days.hpp -- where a calendar day begins and ends in a time
// zone.
#pragma once

#include "persistence/job.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace reeve {

/// The instants of one local day: `end` is the first of the next day. Between
/// them lie 24 hours, or another number where clocks change.
struct day_span {
  timestamp start;
  timestamp end;

  bool operator==(const day_span&) const = default;
};

/// Reads exactly `YYYY-MM-DD`; none for anything else, for dates that do not
/// exist and for years outside 1900 to 9998.
std::optional<std::chrono::year_month_day> parse_date(std::string_view text);

/// True for IANA names such as `Asia/Seoul` and `UTC`, in their own spelling;
/// false for offsets (`GMT+9`) and abbreviations (`PST`).
bool is_time_zone(std::string_view name);

/// The day in a zone for which `is_time_zone` holds. None where the zone
/// skipped the whole day (Pacific/Apia had no 2011-12-30). Throws
/// `std::runtime_error` when ICU lacks its data.
std::optional<day_span> span_of(std::chrono::year_month_day date,
                                std::string_view zone);

} // namespace reeve
