// config/duration.cpp -- durations as the configuration spells them.
#include "config/duration.hpp"

#include <cstdint>
#include <utility>

namespace reeve {

// CAF writes 90 s as 1.5min, which it does not read.
std::string rendered(caf::timespan x) {
  constexpr std::pair<int64_t, const char*> units[] = {
    {60'000'000'000, "min"},
    {1'000'000'000, "s"},
    {1'000'000, "ms"},
    {1'000, "us"},
    {1, "ns"},
  };
  if (x.count() == 0)
    return "0s";
  for (const auto& [size, name] : units)
    if (x.count() % size == 0)
      return std::to_string(x.count() / size) + name;
  return std::to_string(x.count()) + "ns";
}

} // namespace reeve
