// processors/child_process.cpp -- runs a program and never leaves it behind.
#include "processors/child_process.hpp"

#include "processors/child_start.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace reeve {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// How long the pipes are read after the program ended, in case that somebody
/// outside its group holds them.
constexpr milliseconds longest_drain{200};

/// How often an end is looked for where the kernel has no pidfd.
constexpr milliseconds poll_interval{20};

constexpr size_t chunk_bytes = 64 * 1024;

// Writing to a pipe that nobody reads would end this process: while one of
// these lives the calling thread gets EPIPE only.
class sigpipe_block {
public:
  sigpipe_block() {
    sigemptyset(&sigpipe_);
    sigaddset(&sigpipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &sigpipe_, &before_);
  }

  sigpipe_block(const sigpipe_block&) = delete;
  sigpipe_block& operator=(const sigpipe_block&) = delete;

  ~sigpipe_block() {
    if (!was_pending_) {
      timespec now{};
      while (sigtimedwait(&sigpipe_, nullptr, &now) == -1 && errno == EINTR)
        ; // once more
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

private:
  sigset_t sigpipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

// Splits what comes in pieces into lines.
class line_reader {
public:
  explicit line_reader(const std::function<void(std::string_view)>& on_line)
    : on_line_(on_line) {
    // nop
  }

  void add(std::string_view piece) {
    while (!piece.empty()) {
      auto end = piece.find('\n');
      auto part = piece.substr(0, end);
      line_ += part.substr(0, max_error_line_bytes - line_.size());
      started_ = true;
      if (end == std::string_view::npos)
        return;
      finish();
      piece.remove_prefix(end + 1);
    }
  }

  /// Ends a last line that has no end itself.
  void finish() {
    if (!std::exchange(started_, false))
      return;
    if (!line_.empty() && line_.back() == '\r')
      line_.pop_back();
    if (on_line_)
      on_line_(line_);
    line_.clear();
  }

private:
  const std::function<void(std::string_view)>& on_line_;
  std::string line_;
  bool started_ = false;
};

// One run of a program, from its start to its end.
class child_run {
public:
  // `wake` becomes readable when it is time to stop.
  child_run(const child_command& what, started_child child, int wake)
    : what_(what),
      child_(std::move(child)),
      wake_(wake),
      pidfd_(static_cast<int>(syscall(SYS_pidfd_open, child_.pid, 0))),
      lines_(what.on_error_line) {
    // nop
  }

  child_run(const child_run&) = delete;
  child_run& operator=(const child_run&) = delete;

  // An exception of whoever hears the lines leaves no process behind either.
  ~child_run() {
    if (!reaped_) {
      signal_group(SIGKILL);
      reap();
    }
  }

  child_end wait(const std::stop_token& stop) {
    while (!has_exited()) {
      if (!stop_seen_ && stop.stop_requested())
        begin_stop();
      if (kill_at_ && clock::now() >= *kill_at_) {
        signal_group(SIGKILL);
        kill_at_.reset();
      }
      serve_pipes(time_to_wait());
    }
    // The pid cannot be taken by another process before it is reaped: now is
    // the last time that its group can be named.
    signal_group(SIGKILL);
    drain();
    lines_.finish();
    reap();
    end_.stopped = stop_seen_;
    return std::move(end_);
  }

private:
  void signal_group(int signal) {
    kill(-child_.pid, signal);
  }

  void begin_stop() {
    stop_seen_ = true;
    signal_group(SIGTERM);
    // A stopped process would hear of it only then.
    signal_group(SIGCONT);
    kill_at_ = clock::now() + what_.grace;
    wake_ = -1;
  }

  bool has_exited() const {
    siginfo_t info{};
    auto flags = WEXITED | WNOHANG | WNOWAIT;
    auto code = waitid(P_PID, static_cast<id_t>(child_.pid), &info, flags);
    // Any error but an interruption means that there is nothing to wait for.
    return code == 0 ? info.si_pid == child_.pid : errno != EINTR;
  }

  void reap() {
    int status = 0;
    pid_t got = 0;
    do {
      got = waitpid(child_.pid, &status, 0);
    } while (got == -1 && errno == EINTR);
    reaped_ = true;
    if (got == child_.pid && WIFSIGNALED(status))
      end_.signal = WTERMSIG(status);
    else
      end_.exit_code =
        got == child_.pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // Until something has to be done without an event; -1: never.
  int time_to_wait() const {
    milliseconds result{-1};
    if (kill_at_)
      result =
        std::max(milliseconds{0},
                 std::chrono::ceil<milliseconds>(*kill_at_ - clock::now()));
    if (!pidfd_.is_open() && (result.count() < 0 || result > poll_interval))
      result = poll_interval;
    return static_cast<int>(
      std::min(result, milliseconds{std::chrono::hours{1}}).count());
  }

  // False when no pipe is left or nothing happened in time.
  bool serve_pipes(int timeout) {
    std::array<pollfd, 5> fds{{{child_.input.get(), POLLOUT, 0},
                               {child_.output.get(), POLLIN, 0},
                               {child_.errors.get(), POLLIN, 0},
                               {pidfd_.get(), POLLIN, 0},
                               {wake_, POLLIN, 0}}};
    if (poll(fds.data(), fds.size(), timeout) <= 0)
      return false;
    if (fds[0].revents != 0)
      write_input();
    if (fds[1].revents != 0)
      read_output();
    if (fds[2].revents != 0)
      read_errors();
    return child_.output.is_open() || child_.errors.is_open();
  }

  void drain() {
    child_.input.close();
    pidfd_.close();
    wake_ = -1;
    auto deadline = clock::now() + longest_drain;
    for (;;) {
      auto left = std::chrono::ceil<milliseconds>(deadline - clock::now());
      if (left.count() < 0 || !serve_pipes(static_cast<int>(left.count())))
        return;
    }
  }

  void write_input() {
    sigpipe_block guard;
    std::string_view rest{what_.input};
    rest.remove_prefix(written_);
    auto n = write(child_.input.get(), rest.data(), rest.size());
    if (n > 0)
      written_ += static_cast<size_t>(n);
    // EPIPE: it closed its end, which it may.
    if (written_ == what_.input.size()
        || (n == -1 && errno != EAGAIN && errno != EINTR))
      child_.input.close();
  }

  // Empty at the end of the stream, which closes it, and when there is nothing
  // to read now.
  std::string_view read_some(file& from) {
    auto n = read(from.get(), buffer_.data(), buffer_.size());
    if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR))
      from.close();
    return {buffer_.data(), n > 0 ? static_cast<size_t>(n) : 0};
  }

  void read_output() {
    auto piece = read_some(child_.output);
    auto room = what_.max_output_bytes - end_.output.size();
    end_.output += piece.substr(0, room);
    if (piece.size() <= room)
      return;
    end_.output_too_large = true;
    child_.output.close();
    signal_group(SIGKILL);
  }

  void read_errors() {
    lines_.add(read_some(child_.errors));
  }

  const child_command& what_;
  started_child child_;
  // Nobody looks at a descriptor below 0.
  int wake_;
  file pidfd_;
  line_reader lines_;
  std::array<char, chunk_bytes> buffer_;
  child_end end_;
  size_t written_ = 0;
  bool stop_seen_ = false;
  bool reaped_ = false;
  std::optional<clock::time_point> kill_at_;
};

} // namespace

std::variant<child_end, not_started> run_child(const child_command& what,
                                               std::stop_token stop) {
  file wake{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (!wake.is_open())
    return not_started{std::generic_category().message(errno), true};
  auto started = start_child(what);
  if (auto* err = std::get_if<not_started>(&started))
    return *err;
  std::stop_callback ring{stop, [&wake] {
                            uint64_t one = 1;
                            (void)!write(wake.get(), &one, sizeof(one));
                          }};
  child_run run{what, std::get<started_child>(std::move(started)), wake.get()};
  return run.wait(stop);
}

} // namespace reeve
