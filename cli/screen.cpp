// cli/screen.cpp -- the whole terminal, for as long as a program lives on it.
#include "cli/screen.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <string_view>

namespace reeve {

namespace {

// Another screen, no cursor, lines are not wrapped.
constexpr std::string_view enter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view leave = "\x1b[?7h\x1b[?25h\x1b[?1049l";

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    auto written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

} // namespace

screen::screen(int input, int output) : input_(input), output_(output) {
  if (tcgetattr(input_, &before_) != 0)
    throw std::runtime_error("standard input is not a terminal");
  sigset_t heard;
  sigemptyset(&heard);
  for (auto signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH})
    sigaddset(&heard, signal);
  // Threads that are started from here on inherit it.
  pthread_sigmask(SIG_BLOCK, &heard, &mask_before_);
  signals_ = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
  woken_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  auto raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  // Ctrl-Z would leave the shell with a terminal that is ours.
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;
  tcsetattr(input_, TCSANOW, &raw);
  write_all(output_, enter);
}

screen::~screen() {
  write_all(output_, leave);
  tcsetattr(input_, TCSAFLUSH, &before_);
  close(signals_);
  close(woken_);
  // One that is still pending was answered by this end.
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

screen::event screen::wait(std::chrono::milliseconds longest) {
  pollfd fds[] = {
    {input_, POLLIN, 0}, {signals_, POLLIN, 0}, {woken_, POLLIN, 0}};
  auto ready = poll(fds, 3, static_cast<int>(longest.count()));
  if (ready <= 0)
    return event::timeout;
  if (fds[1].revents != 0) {
    signalfd_siginfo info;
    if (read(signals_, &info, sizeof(info)) != sizeof(info))
      return event::timeout;
    return info.ssi_signo == SIGWINCH ? event::resized : event::end;
  }
  if (fds[0].revents != 0) {
    // Nothing to read means that the terminal is gone.
    return read(input_, &key_, 1) == 1 ? event::key : event::end;
  }
  eventfd_t count;
  eventfd_read(woken_, &count);
  return event::woken;
}

void screen::wake() {
  eventfd_write(woken_, 1);
}

void screen::draw(const std::string& text) {
  // Line by line over what is there: nothing flickers.
  std::string out = "\x1b[H";
  for (size_t i = 0; i < text.size();) {
    auto end = std::min(text.find('\n', i), text.size());
    out.append(text, i, end - i);
    out += "\x1b[K";
    i = end + 1;
    if (i < text.size())
      out += '\n';
  }
  write_all(output_, out + "\x1b[J");
}

} // namespace reeve
