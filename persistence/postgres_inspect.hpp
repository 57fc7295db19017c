// persistence/postgres_inspect.hpp -- what a database has, and lacks, for a
// node.
#pragma once

#include "persistence/migration.hpp"
#include "persistence/schema.hpp"

#include <pqxx/pqxx>

#include <string>
#include <vector>

namespace reeve {

/// In order; the table must be there.
std::vector<applied_migration> applied_postgres_migrations(
  pqxx::connection& db);

/// What libpq takes, from a URL. Throws `bad_database_url`.
std::string postgres_conninfo(const std::string& url);

/// See `inspect_schema`.
schema_report inspect_postgres(const std::string& url);

} // namespace reeve
