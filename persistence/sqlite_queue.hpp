// persistence/sqlite_queue.hpp -- how the queue is walked: by type, then by
// priority, so that what is not looked for costs nothing.
#pragma once

#include "persistence/sqlite_connection.hpp"

#include <optional>
#include <string>
#include <vector>

namespace reeve {

/// The types that have waiting jobs, in alphabetical order. One look-up each.
std::vector<std::string> waiting_types(sqlite_connection& db);

/// The priorities that waiting jobs of a type have, lowest (first) first. One
/// look-up each.
std::vector<int64_t> waiting_priorities(sqlite_connection& db,
                                        const std::string& type);

/// When the first job of a type and priority is or was due. With `after`: the
/// first that is due later than that.
std::optional<timestamp> first_due(
  sqlite_connection& db, const std::string& type, int64_t priority,
  std::optional<timestamp> after = std::nullopt);

/// True while claims of the type are stopped.
bool is_paused(sqlite_connection& db, const std::string& type);

} // namespace reeve
