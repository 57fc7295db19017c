// cli/memory.hpp -- keeps an idle node small.
#pragma once

#include <chrono>
#include <optional>

namespace reeve {

/// Bounds the number of heaps to that of the cores: by default there may be
/// eight for each, and each keeps what its threads freed. Call before there are
/// threads.
void bound_heaps();

/// Tells when a burst of work is over, the start being the first one.
class rest_detector {
public:
  using cpu_time = std::chrono::microseconds;

  /// How often to call `tick`.
  static constexpr auto interval = std::chrono::seconds{2};

  /// With the CPU time that the process has used so far. True when it is time
  /// to give memory back: the process worked since the last time, and rests
  /// now.
  bool tick(cpu_time used);

private:
  cpu_time last_{0};
  std::optional<cpu_time> rested_at_;
};

/// Of all threads of this process.
rest_detector::cpu_time process_cpu_time();

/// Returns free pages of all heaps to the system, and lets go of the pages of
/// the program and its libraries: the start has read most of them and nobody
/// needs them again. Those that somebody does come back from the page cache.
void give_memory_back();

} // namespace reeve
