// cli/accounts.hpp -- `reeve accounts`: who has how many tokens.
#pragma once

#include "cli/client_command.hpp"

namespace reeve {

/// Adds `accounts grant|show`. They take the options of a node, above all
/// `--database.url`.
void add_accounts_command(const command_line& to);

} // namespace reeve
