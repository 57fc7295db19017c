// persistence/sqlite_reads.cpp -- what people and the API ask.
#include "persistence/sqlite_queue.hpp"
#include "persistence/sqlite_rows.hpp"
#include "persistence/sqlite_store.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/uuid.hpp"

namespace reeve {

namespace {

constexpr const char* attempts_sql = R"(
  SELECT a.run, a.node, a.started_at, a.finished_at, a.outcome, a.error,
    a.decision, a.why, a.next_run_at
  FROM job_attempts a JOIN job j ON j.seq = a.seq
  WHERE j.id = ? ORDER BY a.run)";

constexpr const char* scrap_sql = R"(
  SELECT id, content, title, url, user_id, created_at FROM scraps
  WHERE id = ?)";

constexpr const char* card_sql = R"(
  SELECT id, scrap_id, job_id, user_id, summary, tags, embedding, model,
    created_at
  FROM knowledge_cards WHERE id = ?)";

constexpr const char* list_cards_sql = R"(
  SELECT id, scrap_id, job_id, user_id, summary, tags, x'', model, created_at
  FROM knowledge_cards WHERE id < ? ORDER BY id DESC LIMIT ?)";

constexpr const char* cards_of_scrap_sql = R"(
  SELECT id, scrap_id, job_id, user_id, summary, tags, embedding, model,
    created_at
  FROM knowledge_cards WHERE scrap_id = ? ORDER BY seq DESC LIMIT ?)";

constexpr const char* counts_sql = R"(
  SELECT job_type, 'PENDING', count(*) FROM queue GROUP BY job_type
  UNION ALL
  SELECT job_type, 'PROCESSING', count(*) FROM running GROUP BY job_type
  UNION ALL
  SELECT job_type, outcome, jobs FROM finished_counts WHERE jobs > 0
  ORDER BY 1, 2)";

// Zeros when there is no job.
constexpr const char* seq_range_sql = R"(
  SELECT coalesce((SELECT min(seq) FROM job), 0),
    coalesce((SELECT max(seq) FROM job), 0))";

constexpr const char* ping_sql = "SELECT 1 FROM job LIMIT 1";

// -- listing ------------------------------------------------------------------

// Where a listing starts decides what it costs. Unfinished jobs are few: they
// are walked in their own tables, unless a target or user is cheaper still.
constexpr const char* from_all = R"(
  FROM job j LEFT JOIN queue q ON q.seq = j.seq
  LEFT JOIN running r ON r.seq = j.seq WHERE 1)";
// Jobs of a target are found block by block, as they stand in their index.
constexpr int block_bits = 13;
constexpr const char* from_targets = R"(
  FROM job j INDEXED BY job_by_target LEFT JOIN queue q ON q.seq = j.seq
  LEFT JOIN running r ON r.seq = j.seq WHERE 1)";
constexpr const char* from_queue = R"(
  FROM queue q CROSS JOIN job j ON j.seq = q.seq
  LEFT JOIN running r ON 0 WHERE 1)";
constexpr const char* from_running = R"(
  FROM running r CROSS JOIN job j ON j.seq = r.seq
  LEFT JOIN queue q ON 0 WHERE 1)";

struct listing {
  std::string from = from_all;
  std::string conditions;
  std::string order = " ORDER BY j.seq DESC LIMIT ?";
};

// Fixed pieces only; values are bound.
listing listing_for(const job_filter& x) {
  listing result;
  const auto has_index = x.target_id || x.user_id;
  if (x.target_id)
    result.from = from_targets;
  if (x.status) {
    switch (*x.status) {
      case job_status::pending:
        if (has_index) {
          result.conditions += " AND q.seq IS NOT NULL";
        } else {
          result.from = from_queue;
          result.order = " ORDER BY q.seq DESC LIMIT ?";
        }
        break;
      case job_status::processing:
        if (has_index) {
          result.conditions += " AND r.seq IS NOT NULL";
        } else {
          result.from = from_running;
          result.order = " ORDER BY r.seq DESC LIMIT ?";
        }
        break;
      case job_status::completed:
        result.conditions += " AND j.outcome = 'COMPLETED'";
        break;
      case job_status::failed:
        result.conditions += " AND j.outcome = 'FAILED'";
        break;
      case job_status::cancelled:
        result.conditions += " AND j.outcome = 'CANCELLED'";
        break;
    }
  }
  if (x.type)
    result.conditions += " AND j.job_type = ?";
  if (x.target_id)
    result.conditions += " AND j.target_id = ?";
  if (x.user_id)
    result.conditions += " AND j.user_id = ?";
  if (x.error_like)
    result.conditions += R"( AND j.error_message LIKE ? ESCAPE '\')";
  if (x.before_seq)
    result.conditions += " AND j.seq < ?";
  return result;
}

template <class T>
void bind_if(sqlite_query& query, const std::optional<T>& value) {
  if (value)
    query.bind(*value);
}

std::optional<timestamp> oldest_due(sqlite_connection& db) {
  std::optional<timestamp> result;
  for (const auto& type : waiting_types(db))
    for (auto priority : waiting_priorities(db, type))
      if (const auto first = first_due(db, type, priority))
        result = std::min(*first, result.value_or(*first));
  return result;
}

std::pair<int64_t, int64_t> seq_range(sqlite_connection& db) {
  sqlite_query query{db.prepared(seq_range_sql)};
  query.next();
  return {query.integer(0), query.integer(1)};
}

// Binds the values of `filter`, and of `block` when there is one.
void list(sqlite_query& query, const job_filter& filter,
          std::optional<int64_t> block, std::vector<job>& out) {
  bind_if(query, filter.type);
  bind_if(query, filter.target_id);
  bind_if(query, filter.user_id);
  bind_if(query, filter.error_like);
  bind_if(query, filter.before_seq);
  bind_if(query, block);
  query.bind(filter.limit - static_cast<uint32_t>(out.size()));
  while (query.next())
    out.push_back(read_job(query));
}

std::vector<job> list(sqlite_connection& db, const job_filter& filter) {
  auto parts = listing_for(filter);
  if (filter.target_id)
    parts.conditions += " AND (j.seq >> 13) = ?";
  sqlite_statement statement{db.database(),
                             "SELECT" REEVE_SQLITE_JOB_COLUMNS + parts.from
                               + parts.conditions + parts.order};
  std::vector<job> result;
  if (!filter.target_id) {
    sqlite_query query{statement};
    list(query, filter, std::nullopt, result);
    return result;
  }
  // One snapshot of all blocks, the newest first.
  sqlite_transaction snapshot{db, "BEGIN"};
  auto [oldest, newest] = seq_range(db);
  newest = std::min(newest, filter.before_seq.value_or(newest + 1) - 1);
  for (auto block = newest >> block_bits;
       block >= oldest >> block_bits && result.size() < filter.limit; --block) {
    sqlite_query query{statement};
    list(query, filter, block, result);
  }
  return result;
}

} // namespace

std::optional<job> sqlite_store::find_job(const std::string& id) {
  if (!is_uuid(id))
    return std::nullopt;
  return translated([&] { return job_by_id(connection(), lower_case(id)); });
}

std::vector<job> sqlite_store::list_jobs(const job_filter& filter) {
  if (!can_match(filter))
    return {};
  return translated([&] { return list(connection(), filter); });
}

std::vector<attempt> sqlite_store::attempts_of(const std::string& job_id) {
  std::vector<attempt> result;
  if (!is_uuid(job_id))
    return result;
  translated([&] {
    sqlite_query query{connection().prepared(attempts_sql)};
    query.bind(lower_case(job_id));
    while (query.next())
      result.push_back(read_attempt(query));
  });
  return result;
}

std::optional<scrap> sqlite_store::find_scrap(const std::string& id) {
  if (!is_uuid(id))
    return std::nullopt;
  return translated([&]() -> std::optional<scrap> {
    sqlite_query query{connection().prepared(scrap_sql)};
    if (!query.bind(lower_case(id)).next())
      return std::nullopt;
    return read_scrap(query);
  });
}

std::optional<knowledge_card> sqlite_store::find_card(const std::string& id) {
  if (!is_uuid(id))
    return std::nullopt;
  return translated([&]() -> std::optional<knowledge_card> {
    sqlite_query query{connection().prepared(card_sql)};
    if (!query.bind(lower_case(id)).next())
      return std::nullopt;
    return read_card(query);
  });
}

std::vector<knowledge_card> sqlite_store::cards_of_scrap(
  const std::string& scrap_id, uint32_t limit) {
  std::vector<knowledge_card> result;
  if (!is_uuid(scrap_id))
    return result;
  translated([&] {
    sqlite_query query{connection().prepared(cards_of_scrap_sql)};
    query.bind(lower_case(scrap_id), limit);
    while (query.next())
      result.push_back(read_card(query));
  });
  return result;
}

std::vector<knowledge_card> sqlite_store::list_cards(
  const std::optional<std::string>& before_id, uint32_t limit) {
  std::vector<knowledge_card> result;
  const auto before = lower_case(before_id.value_or(std::string{last_uuid}));
  if (!is_uuid(before))
    return result;
  translated([&] {
    sqlite_query query{connection().prepared(list_cards_sql)};
    query.bind(before, limit);
    while (query.next())
      result.push_back(read_card(query));
  });
  return result;
}

store_stats sqlite_store::stats() {
  return translated([&] {
    store_stats result;
    auto& db = connection();
    // One snapshot for both questions.
    sqlite_transaction snapshot{db, "BEGIN"};
    {
      sqlite_query query{db.prepared(counts_sql)};
      while (query.next())
        result.counts.push_back(
          {query.text(0),
           job_status_from(query.text(1)).value_or(job_status::failed),
           query.integer(2)});
    }
    if (auto oldest = oldest_due(db)) {
      const auto age =
        std::chrono::floor<std::chrono::milliseconds>(clock_() - *oldest);
      if (age.count() >= 0)
        result.oldest_due_age = age;
    }
    return result;
  });
}

void sqlite_store::ping() {
  translated([&] {
    auto& db = connection();
    db.check_file();
    sqlite_query query{db.prepared(ping_sql)};
    query.next();
  });
}

} // namespace reeve
