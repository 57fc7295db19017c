// processors/child_start.cpp -- the moment between fork and exec.
#include "processors/child_start.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace reeve {

namespace {

not_started failure(const std::string& what, int code) {
  auto full =
    code == EAGAIN || code == ENOMEM || code == EMFILE || code == ENFILE;
  return {what + ": " + std::generic_category().message(code), full};
}

struct pipe_ends {
  file read;
  file write;

  // Both ends are 3 or more: if this process has closed its standard streams,
  // a lower one would be overwritten in the child before it is used.
  bool open() {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
      return false;
    file first{fds[0]};
    file second{fds[1]};
    read = file{fcntl(first.get(), F_DUPFD_CLOEXEC, 3)};
    write = file{fcntl(second.get(), F_DUPFD_CLOEXEC, 3)};
    return read.is_open() && write.is_open();
  }
};

bool set_nonblocking(const file& x) {
  auto flags = fcntl(x.get(), F_GETFL);
  return flags != -1 && fcntl(x.get(), F_SETFL, flags | O_NONBLOCK) == 0;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const auto& text : texts)
    result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// Everything the child needs, made before the fork: other threads may hold
// locks at that moment, so the child must not even allocate.
struct child_plan {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const char* working_directory;
  int input;
  int output;
  int errors;
  int report;
  int highest_descriptor;
  pid_t parent;
};

void reset_signals() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number)
    sigaction(number, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

void close_on_exec(int first, int last) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
    return;
#endif
  for (auto fd = first; fd <= last; ++fd)
    fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// Only async-signal-safe calls from here on.
[[noreturn]] void become(const child_plan& plan) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  reset_signals();
  // The parent may have died before the line above.
  if (getppid() == plan.parent && dup2(plan.input, STDIN_FILENO) != -1
      && dup2(plan.output, STDOUT_FILENO) != -1
      && dup2(plan.errors, STDERR_FILENO) != -1
      && (plan.working_directory == nullptr
          || chdir(plan.working_directory) == 0)) {
    close_on_exec(3, plan.highest_descriptor);
    execve(plan.program, plan.arguments, plan.environment);
  }
  auto code = errno;
  (void)!write(plan.report, &code, sizeof(code));
  _exit(127);
}

// A handler of this process must not run in the child.
pid_t fork_without_signals(const child_plan& plan) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  auto pid = fork();
  if (pid == 0)
    become(plan);
  auto code = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = code;
  return pid;
}

int highest_descriptor() {
  rlimit limit{};
  constexpr rlim_t enough = 65'536;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > enough)
    return enough;
  return static_cast<int>(limit.rlim_cur);
}

// What the child says when it cannot become the program; 0 when it has.
int reported_error(const file& report) {
  int code = 0;
  ssize_t n = 0;
  do {
    n = read(report.get(), &code, sizeof(code));
  } while (n == -1 && errno == EINTR);
  return n == sizeof(code) ? code : 0;
}

} // namespace

void file::close() noexcept {
  if (fd_ >= 0)
    ::close(fd_);
  fd_ = -1;
}

std::variant<started_child, not_started> start_child(
  const child_command& what) {
  pipe_ends input;
  pipe_ends output;
  pipe_ends errors;
  pipe_ends report;
  for (auto* pipe : {&input, &output, &errors, &report})
    if (!pipe->open())
      return failure("no pipe", errno);
  if (!set_nonblocking(input.write) || !set_nonblocking(output.read)
      || !set_nonblocking(errors.read))
    return failure("no pipe", errno);
  auto arguments = pointers_to(what.arguments);
  auto environment = pointers_to(what.environment);
  const auto& directory = what.working_directory;
  child_plan plan{
    what.program.c_str(), arguments.data(),
    environment.data(),   directory.empty() ? nullptr : directory.c_str(),
    input.read.get(),     output.write.get(),
    errors.write.get(),   report.write.get(),
    highest_descriptor(), getpid()};
  auto pid = fork_without_signals(plan);
  if (pid == -1)
    return failure("no process", errno);
  report.write.close();
  if (auto code = reported_error(report.read)) {
    while (waitpid(pid, nullptr, 0) == -1 && errno == EINTR)
      ; // once more
    return failure(what.program, code);
  }
  return started_child{pid, std::move(input.write), std::move(output.read),
                       std::move(errors.read)};
}

} // namespace reeve
