// cli/exit_code.hpp -- what the process tells whoever started it.
#pragma once

namespace reeve {

/// The exit codes of all commands.
enum exit_code : int {
  /// Done; a node has drained.
  exit_ok = 0,
  /// Failed at run time, or did not drain in full.
  exit_failed = 1,
  /// The configuration or the command line cannot be used.
  exit_bad_usage = 2,
  /// There is no such job, type or key.
  exit_not_found = 3,
  /// The node, or the database, cannot be reached.
  exit_unreachable = 4,
  /// The job that was waited for ended FAILED or CANCELLED.
  exit_job_failed = 5,
  /// The key is missing or wrong, or its role may not do this.
  exit_not_allowed = 6,
  /// `check`: the database lacks migrations.
  exit_outstanding = 7,
};

} // namespace reeve
