// cli/store_command.hpp -- commands that work on the store itself, beside a
// running node or without one.
#pragma once

#include "persistence/job_store.hpp"

#include <functional>
#include <string>
#include <vector>

namespace reeve {

/// Opens the store that the options of a node name, above all
/// `--database.url`, brings its schema up to date and runs `f`. Returns the
/// exit code: that of `f`, or what fits the exception that stopped it.
int with_store(const std::vector<std::string>& arguments,
               const std::vector<std::string>& environment,
               const std::function<int(job_store&)>& f);

} // namespace reeve
