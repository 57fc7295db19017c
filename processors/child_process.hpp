// processors/child_process.hpp -- runs a program and never leaves it behind.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace reeve {

struct child_command {
  /// An absolute path.
  std::string program;
  /// With the program's name first.
  std::vector<std::string> arguments;
  /// All of it, as `NAME=VALUE`.
  std::vector<std::string> environment;
  /// Empty: that of this process.
  std::string working_directory;
  /// What it can read on its standard input, which then ends.
  std::string input;
  /// More on its standard output ends it.
  size_t max_output_bytes = 1024 * 1024;
  /// From SIGTERM to SIGKILL.
  std::chrono::milliseconds grace{500};
  /// Hears the lines on its standard error, on the calling thread, without
  /// line ends. A line is cut at `max_error_line_bytes`.
  std::function<void(std::string_view line)> on_error_line;
};

inline constexpr size_t max_error_line_bytes = 4'096;

/// How a program ended.
struct child_end {
  /// What it was ended by; none when it exited.
  std::optional<int> signal;
  int exit_code = 0;
  /// What it wrote on its standard output.
  std::string output;
  /// It wrote more than it may and was killed.
  bool output_too_large = false;
  /// `stop` fired before it ended.
  bool stopped = false;
};

/// Why a program did not start, for people.
struct not_started {
  std::string why;
  /// The system has no room for another process; the program is not at fault.
  bool out_of_resources = false;
};

/// Runs a program in a process group of its own and waits for it. Once `stop`
/// fires the group gets SIGTERM, and SIGKILL when the grace is over; what is
/// left of the group when the program itself ends gets SIGKILL, too. The
/// program is always reaped before this returns, and is killed by the kernel
/// when the calling thread dies. Processes that leave the group (`setsid`) live
/// on, but are not waited for. The child has default signals, no descriptors
/// but 0 to 2 and only the environment it was given. Thread-safe.
std::variant<child_end, not_started> run_child(const child_command& what,
                                               std::stop_token stop);

} // namespace reeve
