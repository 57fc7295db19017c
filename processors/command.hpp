// processors/command.hpp -- a job type whose work is a program's.
#pragma once

#include "processors/processor.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace reeve {

struct command_options {
  /// The program and its arguments; no shell. A program without a slash is
  /// looked up in PATH once, at start.
  std::vector<std::string> argv;
  /// More on its standard output fails the job for good.
  size_t max_output_bytes = 1024 * 1024;
  /// From SIGTERM to SIGKILL when the job is cancelled or times out. A node
  /// gives up on a slot that does not end within `queue.wedged-grace`: well
  /// below that.
  std::chrono::milliseconds grace{500};
  /// Empty: the node's.
  std::string working_directory;
  /// Names of the node's variables that the program gets beside PATH, HOME,
  /// LANG and TZ. None that begins with REEVE_: those hold the node's secrets.
  std::vector<std::string> environment;
};

/// Runs a program for each job. On its standard input it finds `{"id", "type",
/// "target_id", "user_id", "payload", "attempt", "run"}`, in its environment
/// REEVE_JOB_ID, REEVE_JOB_TYPE and REEVE_ATTEMPT. A line `progress PERCENT
/// TEXT` on its standard error is the job's progress; the last 2 KB of other
/// lines go into the error message.
///
/// Exit code 0 completes the job: JSON on standard output is the result, any
/// other UTF-8 text is `{"output": text}`, nothing is null. 64 and 65 (EX_USAGE
/// and EX_DATAERR of sysexits.h) fail the job for good, 75 (EX_TEMPFAIL) is
/// `throttled`: later again, without an attempt spent. Any other code, and a
/// signal, is `failed`. The program's process group is killed when the job
/// stops, and when the program itself ends.
class command final : public processor {
public:
  /// Throws `std::invalid_argument` when there is no such program, the
  /// directory is none, or a variable must not be passed on.
  explicit command(command_options options);

  outcome run(job_context& context) override;

private:
  command_options options_;
  std::string program_;
  std::vector<std::string> environment_;
};

} // namespace reeve
