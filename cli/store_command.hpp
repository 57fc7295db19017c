// cli/store_command.hpp -- commands that work on the store itself, beside a
// running node or without one.
#pragma once

#include "cli/client_command.hpp"
#include "config/options.hpp"
#include "persistence/job_store.hpp"

#include <functional>
#include <string>
#include <vector>

namespace reeve {

/// What help says of commands that take the options of a node.
inline constexpr const char* node_options_footer =
  "Further options are those of a node (config/reeve.conf), above all "
  "--config-file=FILE and --database.url=URL.";

/// Reads the options of a node and runs `f`. Returns the exit code: that of
/// `f`, or what fits the exception that stopped it.
int with_options(const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment,
                 const std::function<int(const options&)>& f);

/// Opens the store that the options name, brings its schema up to date and
/// runs `f`.
int with_store(const std::vector<std::string>& arguments,
               const std::vector<std::string>& environment,
               const std::function<int(job_store&)>& f);

/// Has `command` run `f` on the store, and take the options of a node.
void run_on_store(const command_line& to, CLI::App* command,
                  std::function<int(job_store&)> f);

} // namespace reeve
