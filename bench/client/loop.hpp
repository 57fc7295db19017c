// bench/client/loop.hpp -- waits for many sockets and one timer.
#pragma once

#include <cstdint>
#include <functional>

namespace reeve::bench {

/// Something with a descriptor that a `loop` waits for.
class readable {
public:
  virtual ~readable() = default;

  virtual void on_ready(uint32_t events) = 0;
};

/// One thread's epoll.
class loop {
public:
  loop();
  ~loop();
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;

  /// `what` stays where it is until its descriptor is closed.
  void watch(int fd, readable& what);

  /// Waits until `done()`; calls `tick` about every `tick_us` microseconds, 0
  /// for never. Throws `std::runtime_error` after `longest_s` seconds.
  void run(const std::function<bool()>& done, uint64_t longest_s,
           uint64_t tick_us = 0, const std::function<void()>& tick = {});

private:
  int epoll_ = -1;
};

} // namespace reeve::bench
