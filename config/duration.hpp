// config/duration.hpp -- durations as the configuration spells them, and as
// others want them.
#pragma once

#include <caf/timespan.hpp>

#include <chrono>
#include <string>

namespace reeve {

/// With the largest unit that needs no fraction, e.g. `90s`.
std::string rendered(caf::timespan x);

/// In whole milliseconds, rounded towards zero.
constexpr std::chrono::milliseconds in_ms(caf::timespan x) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(x);
}

} // namespace reeve
