// cli/jobs.hpp -- `reeve jobs`: what is with jobs, and how to change it.
#pragma once

#include "cli/client_command.hpp"

namespace reeve {

/// Adds `jobs list|show|watch|retry|cancel|explain`.
void add_jobs_commands(const command_line& to);

/// Adds `jobs retry`: one by one, or all that failed alike.
void add_retry_command(const command_line& jobs);

} // namespace reeve
