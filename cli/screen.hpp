// cli/screen.hpp -- the whole terminal, for as long as a program lives on it.
#pragma once

#include <termios.h>

#include <chrono>
#include <string>

namespace reeve {

/// Takes the terminal over: another screen, no cursor, keys as they are
/// pressed. The destructor gives all back, and so does whatever signal asks the
/// process to end: those are read by `wait`. One at a time.
class screen {
public:
  /// What ended a wait.
  enum class event { timeout, key, resized, end, woken };

  /// `input` must be a terminal; throws `std::runtime_error` otherwise.
  screen(int input, int output);
  ~screen();
  screen(const screen&) = delete;
  screen& operator=(const screen&) = delete;

  /// Waits for a key (kept in `key`), a change of the size, a signal to end
  /// (Ctrl-C is one), or until another thread calls `wake`.
  event wait(std::chrono::milliseconds longest);

  char key() const noexcept {
    return key_;
  }

  /// From any thread.
  void wake();

  /// Replaces what is shown; `text` is lines, no longer than the terminal.
  void draw(const std::string& text);

private:
  int input_;
  int output_;
  int signals_ = -1;
  int woken_ = -1;
  char key_ = 0;
  termios before_{};
  sigset_t mask_before_{};
};

} // namespace reeve
