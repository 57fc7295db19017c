// cli/node.hpp -- the composition root: which parts make a node.
#pragma once

#include "actors/supervisor.hpp"
#include "config/options.hpp"
#include "persistence/job_store.hpp"
#include "processors/registry.hpp"

#include <caf/fwd.hpp>

#include <functional>
#include <memory>

namespace reeve {

/// Adds job types to those a node has by itself; called once, at start.
using processor_additions = std::function<void(processor_registry&)>;

/// Checks what only the parts of a node can judge, such as the time zone and
/// the programs of job types. Throws `bad_option`.
void check_parts(const options& config);

/// Spawns a supervisor with everything below it; send it `boot_atom`. The
/// stores must outlive the actor system.
supervisor_actor spawn_node(caf::actor_system& sys, const options& config,
                            store_factory& stores,
                            const processor_additions& add = {});

} // namespace reeve
