// cli/heap.cpp -- glibc's heaps: how many, and when they shrink.
#include "cli/heap.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <thread>

#ifdef __GLIBC__
#  include <malloc.h>
#endif

namespace reeve {

namespace {

using namespace std::chrono_literals;

/// Less than this in an interval is rest.
constexpr heap_trimmer::cpu_time rest = 100ms;

/// Less than this since the last time left nothing worth the walk.
constexpr heap_trimmer::cpu_time worth_it = 250ms;

heap_trimmer::cpu_time as_time(const timeval& x) {
  return std::chrono::seconds{x.tv_sec} + std::chrono::microseconds{x.tv_usec};
}

} // namespace

void bound_heaps() {
#ifdef __GLIBC__
  auto cores = static_cast<int>(std::thread::hardware_concurrency());
  mallopt(M_ARENA_MAX, std::max(2, cores));
  // What a batch needs is needed again by the next one: given back and taken
  // anew, its pages would cost more than its work. `trim_heaps` does it once.
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
#endif
}

bool heap_trimmer::tick(cpu_time used) {
  auto rests = used - last_ < rest;
  last_ = used;
  if (!rests || used - trimmed_at_ < worth_it)
    return false;
  trimmed_at_ = used;
  return true;
}

heap_trimmer::cpu_time process_cpu_time() {
  rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0)
    return {};
  return as_time(usage.ru_utime) + as_time(usage.ru_stime);
}

void trim_heaps() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

} // namespace reeve
