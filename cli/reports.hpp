// cli/reports.hpp -- `reeve errors`, `stats`, `actors` and `types`: what goes
// on in a node.
#pragma once

#include "cli/client_command.hpp"
#include "cli/table.hpp"

namespace reeve {

void add_errors_command(const command_line& to);
void add_stats_command(const command_line& to);
void add_actors_command(const command_line& to);
/// Adds `types list|pause|resume`.
void add_types_commands(const command_line& to);

/// The counts of `GET /api/stats`, one row for each type and the sum.
table stats_table(const ordered_json& stats);

/// The tree of `GET /api/actors`, children below their parents.
table actors_table(const ordered_json& actors);

} // namespace reeve
