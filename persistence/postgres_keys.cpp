// persistence/postgres_keys.cpp -- API keys in PostgreSQL.
#include "persistence/postgres_rows.hpp"
#include "persistence/postgres_store.hpp"
#include "persistence/uuid.hpp"

namespace reeve {

namespace {

#define REEVE_KEY_COLUMNS \
  " id, name, role, user_id, digest, reeve.micros(created_at)," \
  " reeve.micros(revoked_at) "

constexpr postgres_statement add_sql{"add_key", R"(
  INSERT INTO reeve.api_keys (id, name, role, user_id, digest)
  VALUES ($1, $2, $3, $4, $5))"};

constexpr postgres_statement find_sql{"find_key",
                                      "SELECT" REEVE_KEY_COLUMNS
                                      "FROM reeve.api_keys"
                                      " WHERE digest = $1"
                                      " AND revoked_at IS NULL"};

constexpr postgres_statement list_sql{
  "list_keys", "SELECT" REEVE_KEY_COLUMNS "FROM reeve.api_keys ORDER BY seq"};

constexpr postgres_statement revoke_sql{"revoke_key", R"(
  UPDATE reeve.api_keys SET revoked_at = now()
  WHERE id = $1 AND revoked_at IS NULL)"};

api_key read_key(const pqxx::row& row) {
  api_key result;
  result.id = row[0].as<std::string>();
  result.name = row[1].as<std::string>();
  result.role = row[2].as<std::string>();
  result.user_id = read_text(row[3]);
  result.digest = row[4].as<std::string>();
  result.created_at = read_time(row[5]);
  if (!row[6].is_null())
    result.revoked_at = read_time(row[6]);
  return result;
}

} // namespace

void postgres_store::add_api_key(const api_key& x) {
  session_.translated([&] {
    pqxx::work tx{session_.connection()};
    session_.run(tx, add_sql,
                 pqxx::params{x.id, x.name, x.role, x.user_id, x.digest});
    tx.commit();
  });
}

std::optional<api_key> postgres_store::find_api_key(const std::string& digest) {
  return session_.read([&](postgres_snapshot& tx) -> std::optional<api_key> {
    auto rows = session_.run(tx, find_sql, pqxx::params{digest});
    if (rows.empty())
      return std::nullopt;
    return read_key(rows[0]);
  });
}

std::vector<api_key> postgres_store::list_api_keys() {
  return session_.read([&](postgres_snapshot& tx) {
    std::vector<api_key> result;
    for (const auto& row : session_.run(tx, list_sql))
      result.push_back(read_key(row));
    return result;
  });
}

bool postgres_store::revoke_api_key(const std::string& id) {
  if (!is_uuid(id))
    return false;
  return session_.translated([&] {
    pqxx::work tx{session_.connection()};
    auto changed = session_.run(tx, revoke_sql, pqxx::params{id});
    tx.commit();
    return changed.affected_rows() > 0;
  });
}

} // namespace reeve
