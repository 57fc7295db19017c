// cli/completion.hpp -- `reeve completion`: scripts that complete words.
#pragma once

#include "cli/client_command.hpp"
#include "cli/command_tree.hpp"

#include <string>

namespace reeve {

/// Adds `completion bash|zsh|fish`, which print what they complete from the
/// commands of `root`, the whole program.
void add_completion_commands(const command_line& to, const CLI::App& root);

std::string bash_completion(const command_info& root);
std::string zsh_completion(const command_info& root);
std::string fish_completion(const command_info& root);

} // namespace reeve
