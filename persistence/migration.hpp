// persistence/migration.hpp -- numbered schema changes inside the binary.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reeve {

/// One file of `persistence/migrations/<database>/`, embedded by
/// cmake/embed_migrations.cmake.
struct migration {
  /// The number in front of the file's name; from 1, without repeats.
  int version = 0;
  /// The file's name, e.g. `0001_jobs.sql`.
  std::string_view name;
  std::string_view sql;

  /// SHA-256 of `sql` in lower-case hex.
  std::string checksum() const;
};

/// In the order of their versions.
std::span<const migration> postgres_migrations();
std::span<const migration> sqlite_migrations();

/// A row of the database's `migrations` table.
struct applied_migration {
  int version = 0;
  std::string name;
  std::string checksum;
};

/// What of `known` the database still lacks, in order. Throws
/// `schema_mismatch`, naming the file, when the database has a migration that
/// this binary does not know, or has it with another text.
std::vector<migration> outstanding(
  std::span<const migration> known,
  const std::vector<applied_migration>& applied);

} // namespace reeve
