// bench/node/samples.hpp -- what a node under measurement tells its driver: a
// file that both have mapped, so that reading it disturbs nobody.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace reeve::bench {

/// Layout of the file. Times are nanoseconds of CLOCK_MONOTONIC, which all
/// processes of a machine share; 0 is "never". `harness/samples.py` and
/// `client/` read it.
struct samples {
  /// Runs of the processor that began.
  std::atomic<uint64_t> started;
  /// When the first of them did.
  std::atomic<int64_t> first_ns;
  /// How many of `waits` are taken; may exceed what fits.
  std::atomic<uint64_t> taken;
  /// From a job's `payload.t` to the start of its processor.
  std::atomic<int64_t> waits[];
};

static_assert(sizeof(samples) == 24);
static_assert(std::atomic<int64_t>::is_always_lock_free);

/// How many waits fit into a file of `bytes`.
constexpr size_t waits_in(size_t bytes) {
  return bytes < sizeof(samples) ? 0 : (bytes - sizeof(samples)) / 8;
}

/// Maps the file at `path`, which must have its size already; throws
/// `std::system_error`.
samples* map_samples(const char* path, size_t& bytes);

int64_t monotonic_ns();

} // namespace reeve::bench
