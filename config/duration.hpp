// config/duration.hpp -- durations as the configuration spells them.
#pragma once

#include <caf/timespan.hpp>

#include <string>

namespace reeve {

/// With the largest unit that needs no fraction, e.g. `90s`.
std::string rendered(caf::timespan x);

} // namespace reeve
