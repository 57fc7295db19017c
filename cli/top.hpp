// cli/top.hpp -- `reeve top`: what goes on, live.
#pragma once

#include "cli/client_command.hpp"

namespace reeve {

/// Adds `top`. On a terminal it redraws until `q` or Ctrl-C; elsewhere it
/// prints what is now, once.
void add_top_command(const command_line& to);

} // namespace reeve
