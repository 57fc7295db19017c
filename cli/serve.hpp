// cli/serve.hpp -- runs a node in this process.
#pragma once

#include "cli/node.hpp"

#include <string>
#include <vector>

namespace reeve {

/// What the process tells whoever started it.
enum exit_code : int {
  /// Drained, or nothing went wrong.
  exit_ok = 0,
  /// Failed at run time, or did not drain in full.
  exit_failed = 1,
  /// The configuration or the command line cannot be used.
  exit_bad_usage = 2,
};

/// Serves until SIGTERM or SIGINT, then drains; a second signal ends it at
/// once. With `--print-config` it prints the effective settings instead. `add`
/// gives the node job types beside its own.
int serve(std::vector<std::string> arguments,
          const std::vector<std::string>& environment,
          const processor_additions& add = {});

} // namespace reeve
