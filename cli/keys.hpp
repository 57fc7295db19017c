// cli/keys.hpp -- `reeve keys`: who may call the API.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

namespace reeve {

/// Adds `keys create|list|revoke` to the program. `chosen` is set to what to
/// run when one of them was named; it returns the exit code. The commands take
/// the options of a node, above all `--database.url`.
void add_keys_command(CLI::App& app,
                      const std::vector<std::string>& environment,
                      std::function<int()>& chosen);

} // namespace reeve
