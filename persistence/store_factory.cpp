// persistence/store_factory.cpp -- which database a URL means.
#include "persistence/job_store.hpp"
#include "persistence/postgres_store.hpp"
#include "persistence/sqlite_store.hpp"

#include <string_view>

namespace reeve {

std::unique_ptr<store_factory> store_factory::make(const std::string& url) {
  constexpr std::string_view sqlite = "sqlite:";
  if (url.starts_with(sqlite))
    return make_sqlite_factory(url.substr(sqlite.size()));
  if (url.starts_with("postgresql://") || url.starts_with("postgres://"))
    return make_postgres_factory(url);
  // The URL itself is not shown: it may have a password.
  throw bad_database_url("database.url must be sqlite:PATH or "
                         "postgresql://USER@HOST:PORT/DATABASE");
}

} // namespace reeve
