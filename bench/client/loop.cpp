// bench/client/loop.cpp -- waits for many sockets and one timer.
#include "bench/client/loop.hpp"

#include "bench/node/samples.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <stdexcept>
#include <system_error>

namespace reeve::bench {

loop::loop() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0)
    throw std::system_error(errno, std::generic_category(), "epoll");
}

loop::~loop() {
  close(epoll_);
}

void loop::watch(int fd, readable& what) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &what;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0)
    throw std::system_error(errno, std::generic_category(), "epoll");
}

void loop::run(const std::function<bool()>& done, uint64_t longest_s,
               uint64_t tick_us, const std::function<void()>& tick) {
  std::array<epoll_event, 256> events;
  auto deadline = monotonic_ns() + static_cast<int64_t>(longest_s) * 1000000000;
  auto step = static_cast<int64_t>(tick_us) * 1000;
  // Without a timer `done` is still asked ten times a second.
  constexpr int64_t longest_wait = 100'000'000;
  auto next = monotonic_ns();
  while (!done()) {
    auto now = monotonic_ns();
    if (now > deadline)
      throw std::runtime_error("not done after " + std::to_string(longest_s)
                               + " s");
    if (step > 0 && now >= next) {
      tick();
      next = std::max(next + step, now);
      continue;
    }
    auto wait = step > 0 ? next - now : longest_wait;
    timespec timeout{wait / 1'000'000'000, wait % 1'000'000'000};
    auto count =
      epoll_pwait2(epoll_, events.data(), events.size(), &timeout, nullptr);
    for (int i = 0; i < count; ++i)
      static_cast<readable*>(events[i].data.ptr)->on_ready(events[i].events);
  }
}

} // namespace reeve::bench
