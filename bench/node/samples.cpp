// bench/node/samples.cpp -- maps the file of samples.
#include "bench/node/samples.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <string>
#include <system_error>

namespace reeve::bench {

samples* map_samples(const char* path, size_t& bytes) {
  auto fail = [path] {
    throw std::system_error(errno, std::generic_category(), path);
  };
  auto fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    fail();
  struct stat info;
  if (fstat(fd, &info) != 0)
    fail();
  bytes = static_cast<size_t>(info.st_size);
  auto* result =
    mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (result == MAP_FAILED)
    fail();
  close(fd);
  return static_cast<samples*>(result);
}

int64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

} // namespace reeve::bench
