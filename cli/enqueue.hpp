// cli/enqueue.hpp -- `reeve enqueue`: adds a job.
#pragma once

#include "cli/client_command.hpp"

namespace reeve {

void add_enqueue_command(const command_line& to);

/// The text that `--payload` names: itself, of a file (`@FILE`) or of standard
/// input (`-`). Throws `api_error` for what cannot be read or is no JSON
/// object.
ordered_json payload_of(const std::string& argument);

} // namespace reeve
