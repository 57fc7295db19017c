// cli/keys.hpp -- `reeve keys`: who may call the API.
#pragma once

#include "cli/client_command.hpp"

namespace reeve {

/// Adds `keys create|list|revoke`. They take the options of a node, above all
/// `--database.url`.
void add_keys_command(const command_line& to);

} // namespace reeve
