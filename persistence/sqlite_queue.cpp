// persistence/sqlite_queue.cpp -- walks over the index of claims.
#include "persistence/sqlite_queue.hpp"

namespace reeve {

namespace {

constexpr const char* next_type_sql = R"(
  SELECT min(job_type) FROM queue WHERE job_type > ?)";

constexpr const char* first_priority_sql = R"(
  SELECT min(priority) FROM queue WHERE job_type = ?)";
constexpr const char* next_priority_sql = R"(
  SELECT min(priority) FROM queue WHERE job_type = ? AND priority > ?)";

constexpr const char* first_due_sql = R"(
  SELECT min(run_at) FROM queue WHERE job_type = ? AND priority = ?)";
constexpr const char* next_due_sql = R"(
  SELECT min(run_at) FROM queue
  WHERE job_type = ? AND priority = ? AND run_at > ?)";

constexpr const char* is_paused_sql = R"(
  SELECT 1 FROM types WHERE job_type = ? AND paused)";

std::optional<int64_t> number_of(sqlite_query& query) {
  if (!query.next() || query.is_null(0))
    return std::nullopt;
  return query.integer(0);
}

} // namespace

std::vector<std::string> waiting_types(sqlite_connection& db) {
  std::vector<std::string> result;
  // No type is empty: this is before the first.
  std::string last;
  for (;;) {
    sqlite_query query{db.prepared(next_type_sql)};
    if (!query.bind(last).next() || query.is_null(0))
      return result;
    last = query.text(0);
    result.push_back(last);
  }
}

std::vector<int64_t> waiting_priorities(sqlite_connection& db,
                                        const std::string& type) {
  std::vector<int64_t> result;
  std::optional<int64_t> next;
  {
    sqlite_query query{db.prepared(first_priority_sql)};
    next = number_of(query.bind(type));
  }
  while (next) {
    result.push_back(*next);
    sqlite_query query{db.prepared(next_priority_sql)};
    next = number_of(query.bind(type, result.back()));
  }
  return result;
}

std::optional<timestamp> first_due(sqlite_connection& db,
                                   const std::string& type, int64_t priority,
                                   std::optional<timestamp> after) {
  sqlite_query query{db.prepared(after ? next_due_sql : first_due_sql)};
  query.bind(type, priority);
  if (after)
    query.bind(*after);
  query.next();
  return query.maybe_time(0);
}

bool is_paused(sqlite_connection& db, const std::string& type) {
  sqlite_query query{db.prepared(is_paused_sql)};
  return query.bind(type).next();
}

} // namespace reeve
