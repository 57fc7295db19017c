// actors/pace.hpp -- how many runs of a type one slot takes at a time.
#pragma once

#include <caf/timespan.hpp>

#include <cstdint>

namespace reeve {

/// Learns from the runs of one type whether they are short enough to be
/// fetched ahead: only then a claim of one by one would cost more than the
/// work. It grows as TCP opens its window, and forgets at once.
class pace {
public:
  /// About how long the runs of a bundle may take together.
  static constexpr caf::timespan budget = std::chrono::milliseconds{20};
  /// Most runs in a bundle, however short.
  static constexpr uint32_t most = 256;

  /// A run took so long.
  void add(caf::timespan took);

  /// How many runs one slot may be given at a time; 1: none ahead.
  uint32_t window() const {
    return window_;
  }

private:
  uint32_t window_ = 1;
  /// Of recent runs the slowest, fading.
  double slowest_ns_ = 0;
  /// Runs since the window grew last.
  uint32_t seen_ = 0;
};

} // namespace reeve
