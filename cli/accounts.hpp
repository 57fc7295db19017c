// cli/accounts.hpp -- `reeve accounts`: who has how many tokens.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

namespace reeve {

/// Adds `accounts grant|show` to the program. `chosen` is set to what to run
/// when one of them was named; it returns the exit code. The commands take the
/// options of a node, above all `--database.url`.
void add_accounts_command(CLI::App& app,
                          const std::vector<std::string>& environment,
                          std::function<int()>& chosen);

} // namespace reeve
