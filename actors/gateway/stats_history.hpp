// actors/gateway/stats_history.hpp -- how the counts of jobs came to be what
// they are, for charts.
#pragma once

#include "persistence/reads.hpp"

#include <chrono>
#include <cstddef>
#include <deque>

namespace reeve {

/// Samples of the last hour, oldest first. For one thread; all connections of a
/// gateway run on one. It is this process's memory: a node begins with none.
class stats_history {
public:
  static constexpr std::chrono::seconds spacing{10};
  static constexpr size_t most = 360;

  struct sample {
    timestamp at;
    store_stats what;
  };

  void add(timestamp at, store_stats what);

  const std::deque<sample>& samples() const noexcept {
    return samples_;
  }

private:
  std::deque<sample> samples_;
};

} // namespace reeve
