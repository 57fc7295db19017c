// cli/database_commands.hpp -- `reeve migrate` and `reeve check`: a node's
// configuration and its database, before it runs.
#pragma once

#include "cli/client_command.hpp"

namespace reeve {

/// Adds `migrate`: applies migrations and says which.
void add_migrate_command(const command_line& to);

/// Adds `check`: whether a node could run, by its exit code.
void add_check_command(const command_line& to);

} // namespace reeve
