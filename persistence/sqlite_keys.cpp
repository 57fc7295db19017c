// persistence/sqlite_keys.cpp -- API keys in SQLite.
#include "persistence/sqlite_store.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/uuid.hpp"

namespace reeve {

namespace {

#define REEVE_KEY_COLUMNS \
  " id, name, role, user_id, digest, created_at, revoked_at "

constexpr const char* add_sql = R"(
  INSERT INTO api_keys (id, name, role, user_id, digest, created_at)
  VALUES (?, ?, ?, ?, ?, ?))";

constexpr const char* find_sql =
  "SELECT" REEVE_KEY_COLUMNS
  "FROM api_keys WHERE digest = ? AND revoked_at IS NULL";

constexpr const char* list_sql =
  "SELECT" REEVE_KEY_COLUMNS "FROM api_keys ORDER BY seq";

constexpr const char* revoke_sql = R"(
  UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL)";

api_key read_key(const sqlite_query& row) {
  api_key result;
  result.id = row.text(0);
  result.name = row.text(1);
  result.role = row.text(2);
  result.user_id = row.maybe_text(3);
  result.digest = row.text(4);
  result.created_at = row.time(5);
  result.revoked_at = row.maybe_time(6);
  return result;
}

} // namespace

void sqlite_store::add_api_key(const api_key& x) {
  translated([&] {
    sqlite_query query{connection().prepared(add_sql)};
    query.bind(x.id, x.name, x.role, x.user_id, x.digest, clock_());
    query.run();
  });
}

std::optional<api_key> sqlite_store::find_api_key(const std::string& digest) {
  return translated([&]() -> std::optional<api_key> {
    sqlite_query query{connection().prepared(find_sql)};
    if (!query.bind(digest).next())
      return std::nullopt;
    return read_key(query);
  });
}

std::vector<api_key> sqlite_store::list_api_keys() {
  return translated([&] {
    std::vector<api_key> result;
    sqlite_query query{connection().prepared(list_sql)};
    while (query.next())
      result.push_back(read_key(query));
    return result;
  });
}

bool sqlite_store::revoke_api_key(const std::string& id) {
  if (!is_uuid(id))
    return false;
  return translated([&] {
    sqlite_query query{connection().prepared(revoke_sql)};
    query.bind(clock_(), lower_case(id));
    return query.run() > 0;
  });
}

} // namespace reeve
