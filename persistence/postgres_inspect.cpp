// persistence/postgres_inspect.cpp -- what a database has, and lacks, for a
// node.
#include "persistence/postgres_inspect.hpp"

#include "persistence/job_store.hpp"
#include "persistence/postgres_session.hpp"

namespace reeve {

namespace {

constexpr const char* facts_sql = R"(
  SELECT to_regnamespace('reeve') IS NOT NULL,
         current_setting('transaction_read_only') = 'on',
         has_database_privilege(current_database(), 'CREATE'),
         CASE WHEN to_regnamespace('reeve') IS NOT NULL
              THEN has_schema_privilege('reeve', 'USAGE') END,
         CASE WHEN to_regnamespace('reeve') IS NOT NULL
              THEN has_schema_privilege('reeve', 'CREATE') END)";

// What the statements of a node ask of each table and view. A lock on rows,
// also FOR KEY SHARE, asks for UPDATE. Numbers of identity columns are free to
// all who may insert; only those of jobs are also drawn ahead.
constexpr const char* missing_privileges_sql = R"(
  WITH needs(name, privileges) AS (VALUES
    ('accounts', 'SELECT INSERT UPDATE'),
    ('api_keys', 'SELECT INSERT UPDATE'),
    ('contents', 'SELECT INSERT UPDATE'),
    ('daily_summaries', 'SELECT INSERT UPDATE'),
    ('finished_counts', 'SELECT INSERT UPDATE DELETE'),
    ('job', 'SELECT INSERT UPDATE DELETE'),
    ('job_attempts', 'SELECT INSERT'),
    ('job_seq_seq', 'USAGE'),
    ('job_steps', 'SELECT INSERT'),
    ('jobs', 'SELECT'),
    ('knowledge_cards', 'SELECT INSERT'),
    ('ledger', 'SELECT INSERT'),
    ('migrations', 'SELECT'),
    ('page_images', 'SELECT INSERT UPDATE'),
    ('pages', 'SELECT INSERT UPDATE DELETE'),
    ('queue', 'SELECT INSERT UPDATE DELETE'),
    ('recalls', 'SELECT INSERT'),
    ('running', 'SELECT INSERT UPDATE DELETE'),
    ('scraps', 'SELECT INSERT UPDATE DELETE'),
    ('til_entries', 'SELECT INSERT'),
    ('types', 'SELECT INSERT UPDATE'))
  SELECT c.relname || ' (' || string_agg(w.privilege, ', ') || ')'
  FROM needs n
  JOIN pg_class c ON c.relname = n.name
    AND c.relnamespace = to_regnamespace('reeve')
  CROSS JOIN LATERAL regexp_split_to_table(n.privileges, ' ') AS w(privilege)
  WHERE NOT CASE WHEN c.relkind = 'S'
                 THEN has_sequence_privilege(c.oid, w.privilege)
                 ELSE has_table_privilege(c.oid, w.privilege) END
  GROUP BY c.relname ORDER BY c.relname)";

// What a node trusts the server with, and cannot ask for itself.
// https://www.postgresql.org/docs/current/runtime-config-wal.html
constexpr const char* durability_sql = R"(
  SELECT coalesce(current_setting('fsync', true), 'on') = 'off',
         coalesce(current_setting('full_page_writes', true), 'on') = 'off')";

void look_at_durability(pqxx::connection& db, schema_report& result) {
  const auto is_off = pqxx::nontransaction{db}.exec(durability_sql).one_row();
  if (is_off[0].as<bool>())
    result.warnings.emplace_back(
      "the server runs with fsync = off: when its machine crashes, jobs that "
      "were acknowledged may be lost, and the whole database, too");
  if (is_off[1].as<bool>())
    result.warnings.emplace_back(
      "the server runs with full_page_writes = off: unless its file system "
      "never tears a page, a crash of its machine may damage the database");
}

schema_report inspect(pqxx::connection& db) {
  schema_report result;
  look_at_durability(db, result);
  auto find_outstanding = [&](const std::vector<applied_migration>& applied) {
    result.applied = applied.size();
    for (const auto& file : outstanding(postgres_migrations(), applied))
      result.outstanding.emplace_back(file.name);
  };
  const auto facts = pqxx::nontransaction{db}.exec(facts_sql).one_row();
  const auto has_schema = facts[0].as<bool>();
  if (facts[1].as<bool>())
    result.problems.emplace_back("the database takes no writes: it is a "
                                 "standby or read-only");
  if (!has_schema) {
    find_outstanding({});
    if (!facts[2].as<bool>())
      result.problems.emplace_back("this user may not create the schema reeve");
    return result;
  }
  if (!facts[3].as<bool>()) {
    result.problems.emplace_back("this user may not use the schema reeve");
    return result;
  }
  const auto may_read =
    pqxx::nontransaction{db}
      .exec("SELECT to_regclass('reeve.migrations') IS NOT NULL,"
            " coalesce(has_table_privilege("
            "to_regclass('reeve.migrations'), 'SELECT'), false)")
      .one_row();
  if (!may_read[0].as<bool>())
    find_outstanding({});
  else if (may_read[1].as<bool>())
    find_outstanding(applied_postgres_migrations(db));
  if (!result.outstanding.empty() && !facts[4].as<bool>())
    result.problems.emplace_back("this user may not create tables in the "
                                 "schema reeve");
  for (const auto& row : pqxx::nontransaction{db}.exec(missing_privileges_sql))
    result.problems.push_back("this user lacks privileges on reeve."
                              + row[0].as<std::string>());
  return result;
}

} // namespace

std::vector<applied_migration> applied_postgres_migrations(
  pqxx::connection& db) {
  std::vector<applied_migration> result;
  pqxx::work tx{db};
  for (const auto& row : tx.exec("SELECT version, name, checksum"
                                 " FROM reeve.migrations ORDER BY version"))
    result.push_back(
      {row[0].as<int>(), row[1].as<std::string>(), row[2].as<std::string>()});
  return result;
}

schema_report inspect_postgres(const std::string& url) {
  postgres_session session{postgres_conninfo(url)};
  session.connect();
  try {
    return inspect(session.connection());
  } catch (const schema_mismatch&) {
    throw;
  } catch (const std::exception& err) {
    throw store_unavailable("postgresql: " + message_of(err));
  }
}

} // namespace reeve
