// persistence/schema.hpp -- what a database has, and lacks, for a node.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace reeve {

struct schema_report {
  /// Migrations that it has.
  size_t applied = 0;
  /// Names of those it lacks, in order.
  std::vector<std::string> outstanding;
  /// What this user may not do there and a node must, for people.
  std::vector<std::string> problems;
  /// Settings of the server that may cost what was acknowledged, for people.
  std::vector<std::string> warnings;
};

/// Looks at the database of a `database.url`, and changes nothing. Throws
/// `bad_database_url`, `schema_mismatch` or `store_unavailable`.
schema_report inspect_schema(const std::string& url);

/// The part of it for a file, which may be missing.
schema_report inspect_sqlite(const std::string& path);

} // namespace reeve
