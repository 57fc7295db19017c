// tests/integration/persistence/postgres_backend.hpp -- a database of its own
// on the server that all tests share.
#pragma once

#include "persistence/postgres_store.hpp"

#include "support/postgres_cluster.hpp"

#include <string>

namespace reeve {

/// The backend of the conformance tests for PostgreSQL.
class postgres_backend {
public:
  std::unique_ptr<job_store> connect() {
    return factory->connect();
  }

  int64_t number(const std::string& sql) {
    pqxx::connection db{url};
    pqxx::work tx{db};
    tx.exec("SET search_path = reeve");
    return tx.exec(sql).one_row()[0].as<int64_t>();
  }

  ~postgres_backend() {
    cluster.drop_database(name);
  }

  postgres_cluster& cluster = postgres_cluster::shared();
  std::string name = cluster.create_database(migrated());
  std::string url = cluster.url(name);
  std::unique_ptr<store_factory> factory = make_postgres_factory(url);

private:
  // Copying a migrated database is faster than migrating one.
  static const std::string& migrated() {
    static const std::string result = [] {
      auto& shared = postgres_cluster::shared();
      auto original = shared.create_database();
      make_postgres_factory(shared.url(original))->migrate();
      return original;
    }();
    return result;
  }
};

} // namespace reeve
