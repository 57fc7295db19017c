// cli/heap.hpp -- keeps the heap of an idle node small.
#pragma once

#include <chrono>

namespace reeve {

/// Bounds the number of heaps to that of the cores: by default there may be
/// eight for each, and each keeps what its threads freed. Call before there are
/// threads.
void bound_heaps();

/// Gives free memory back to the system once a burst of work is over.
class heap_trimmer {
public:
  using cpu_time = std::chrono::microseconds;

  /// How often to call `tick`.
  static constexpr auto interval = std::chrono::seconds{5};

  /// With the CPU time that the process has used so far. True when it is time
  /// to trim: it worked since the last time, and rests now.
  bool tick(cpu_time used);

private:
  cpu_time last_{0};
  cpu_time trimmed_at_{0};
};

/// Of all threads of this process.
heap_trimmer::cpu_time process_cpu_time();

/// Returns free pages of all heaps to the system.
void trim_heaps();

} // namespace reeve
