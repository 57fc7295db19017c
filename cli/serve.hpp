// cli/serve.hpp -- runs a node in this process.
#pragma once

#include "cli/exit_code.hpp"
#include "cli/node.hpp"

#include <string>
#include <vector>

namespace reeve {

/// Serves until SIGTERM or SIGINT, then drains; a second signal ends it at
/// once. With `--print-config` it prints the effective settings instead. `add`
/// gives the node job types beside its own.
int serve(std::vector<std::string> arguments,
          const std::vector<std::string>& environment,
          const processor_additions& add = {});

} // namespace reeve
