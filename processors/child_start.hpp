// processors/child_start.hpp -- the moment between fork and exec.
#pragma once

#include "processors/child_process.hpp"

#include <sys/types.h>

#include <utility>
#include <variant>

namespace reeve {

/// Owns a descriptor.
class file {
public:
  file() = default;

  explicit file(int fd) : fd_(fd) {
    // nop
  }

  file(file&& x) noexcept : fd_(std::exchange(x.fd_, -1)) {
    // nop
  }

  file& operator=(file&& x) noexcept {
    std::swap(fd_, x.fd_);
    return *this;
  }

  ~file() {
    close();
  }

  void close() noexcept;

  /// -1 when it is closed, which poll() passes over.
  int get() const noexcept {
    return fd_;
  }

  bool is_open() const noexcept {
    return fd_ >= 0;
  }

private:
  int fd_ = -1;
};

/// A program that runs, and our ends of its standard streams, which do not
/// block. It is the caller's to reap.
struct started_child {
  pid_t pid = -1;
  file input;
  file output;
  file errors;
};

/// Starts a program as `run_child` has it. Returns once it really runs.
std::variant<started_child, not_started> start_child(const child_command& what);

} // namespace reeve
