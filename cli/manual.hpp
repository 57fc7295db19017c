// cli/manual.hpp -- `reeve manual`: reeve(1), from the commands themselves.
#pragma once

#include "cli/client_command.hpp"
#include "cli/command_tree.hpp"

#include <string>

namespace reeve {

/// Adds `manual`, which prints the manual page.
void add_manual_command(const command_line& to, const CLI::App& root,
                        const std::string& version);

/// In the macros of man(7).
std::string manual_page(const command_info& root, const std::string& version);

} // namespace reeve
