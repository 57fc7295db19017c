// persistence/store_factory.cpp -- which database a URL means.
#include "persistence/job_store.hpp"
#include "persistence/postgres_inspect.hpp"
#include "persistence/postgres_store.hpp"
#include "persistence/schema.hpp"
#include "persistence/sqlite_store.hpp"

#include <string_view>

namespace reeve {

namespace {

constexpr std::string_view sqlite = "sqlite:";

} // namespace

std::unique_ptr<store_factory> store_factory::make(const std::string& url) {
  if (url.starts_with(sqlite))
    return make_sqlite_factory(url.substr(sqlite.size()));
  if (url.starts_with("postgresql://") || url.starts_with("postgres://"))
    return make_postgres_factory(url);
  // The URL itself is not shown: it may have a password.
  throw bad_database_url("database.url must be sqlite:PATH or "
                         "postgresql://USER@HOST:PORT/DATABASE");
}

schema_report inspect_schema(const std::string& url) {
  // Refuses what is no URL of a database.
  auto stores = store_factory::make(url);
  return url.starts_with(sqlite) ? inspect_sqlite(url.substr(sqlite.size()))
                                 : inspect_postgres(url);
}

} // namespace reeve
