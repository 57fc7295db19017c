// cli/program.hpp -- the `reeve` program, for those who add job types to it.
#pragma once

#include "cli/node.hpp"

namespace reeve {

/// All of `main`: reads the command line, does what it says and returns the
/// exit code. `add` gives the nodes that are run by it job types beside their
/// own; what it throws ends `serve` with exit code 1.
int run_program(int argc, char** argv, char** envp,
                const processor_additions& add = {});

} // namespace reeve
