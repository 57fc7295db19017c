// cli/memory.cpp -- how many heaps there are, and when the process shrinks.
#include "cli/memory.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <thread>

#ifdef __GLIBC__
#  include <link.h>
#  include <malloc.h>
#endif

namespace reeve {

namespace {

using namespace std::chrono_literals;

/// Less than this in an interval, a hundredth of a core, is rest.
constexpr rest_detector::cpu_time rest =
  rest_detector::cpu_time{rest_detector::interval} / 100;

/// Less than this since the last time left nothing worth the walk.
constexpr rest_detector::cpu_time worth_it = 250ms;

#ifdef __GLIBC__
// What cannot be written is as it is in the file. It is still mapped: who looks
// at such a page gets it from the page cache, together with its neighbours.
int let_go_of_pages(dl_phdr_info* object, size_t, void*) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (const auto& part :
       std::span{object->dlpi_phdr, size_t{object->dlpi_phnum}}) {
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) != 0)
      continue;
    const auto begin = (object->dlpi_addr + part.p_vaddr) & ~(page - 1);
    const auto end = object->dlpi_addr + part.p_vaddr + part.p_memsz;
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}
#endif

rest_detector::cpu_time as_time(const timeval& x) {
  return std::chrono::seconds{x.tv_sec} + std::chrono::microseconds{x.tv_usec};
}

} // namespace

void bound_heaps() {
#ifdef __GLIBC__
  auto cores = static_cast<int>(std::thread::hardware_concurrency());
  mallopt(M_ARENA_MAX, std::max(2, cores));
  // What a batch needs is needed again by the next one: given back and taken
  // anew, its pages would cost more than its work. `give_memory_back` does it
  // once.
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
#endif
}

bool rest_detector::tick(cpu_time used) {
  auto rests = used - last_ < rest;
  last_ = used;
  if (!rests || (rested_at_ && used - *rested_at_ < worth_it))
    return false;
  rested_at_ = used;
  return true;
}

rest_detector::cpu_time process_cpu_time() {
  rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0)
    return {};
  return as_time(usage.ru_utime) + as_time(usage.ru_stime);
}

void give_memory_back() {
#ifdef __GLIBC__
  malloc_trim(0);
  dl_iterate_phdr(let_go_of_pages, nullptr);
#endif
}

} // namespace reeve
