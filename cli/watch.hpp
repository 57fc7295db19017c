// cli/watch.hpp -- follows one job to its end.
#pragma once

#include "cli/client_command.hpp"

namespace reeve {

/// Shows each change: a bar that moves on a terminal, a line each elsewhere, a
/// JSON object each for programs. Returns `exit_ok` when the job is COMPLETED
/// and `exit_job_failed` when it ended otherwise. A node that goes away is
/// waited for, for a minute.
int watch(const client_session& session, const std::string& id);

/// Waits and shows nothing; the job as it ended.
ordered_json wait_for_end(const client_session& session, const std::string& id);

/// What a job's last state means to whoever waited for it.
exit_code code_of_end(const ordered_json& job);

} // namespace reeve
