// persistence/sqlite_san.cpp -- daily summaries, what belongs to them, and
// cards by time and by similarity.
#include "persistence/sqlite_rows.hpp"
#include "persistence/sqlite_store.hpp"
#include "persistence/sqlite_writer.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/uuid.hpp"

#include <limits>

namespace reeve {

namespace {

constexpr auto all_cards = std::numeric_limits<uint32_t>::max();

#define REEVE_SUMMARY_COLUMNS \
  " id, user_id, date, time_zone, day_start, day_end, created_at "

constexpr const char* insert_summary_sql = R"(
  INSERT INTO daily_summaries (id, user_id, date, time_zone, day_start,
    day_end, created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (coalesce(user_id, ''), date, time_zone) DO NOTHING)";

constexpr const char* same_summary_sql =
  "SELECT" REEVE_SUMMARY_COLUMNS
  "FROM daily_summaries WHERE coalesce(user_id, '') = coalesce(?, '')"
  " AND date = ? AND time_zone = ?";
constexpr const char* summary_sql =
  "SELECT" REEVE_SUMMARY_COLUMNS "FROM daily_summaries WHERE id = ?";
constexpr const char* summary_of_sql =
  "SELECT" REEVE_SUMMARY_COLUMNS
  "FROM daily_summaries WHERE coalesce(user_id, '') = coalesce(?, '')"
  " AND date = ? ORDER BY seq DESC LIMIT 1";

constexpr const char* til_sql = R"(
  SELECT id, daily_summary_id, job_id, user_id, content, card_ids, model,
    created_at
  FROM til_entries WHERE daily_summary_id = ? ORDER BY seq DESC LIMIT 1)";
constexpr const char* recall_sql = R"(
  SELECT id, daily_summary_id, job_id, user_id, content, related, model,
    created_at
  FROM recalls WHERE daily_summary_id = ? ORDER BY seq DESC LIMIT 1)";

#define REEVE_CARDS_BETWEEN(EMBEDDING) \
  "SELECT id, scrap_id, job_id, user_id, summary, tags, " EMBEDDING \
  ", model, created_at FROM knowledge_cards" \
  " WHERE user_id IS ? AND created_at >= ? AND created_at < ?" \
  " ORDER BY created_at, seq LIMIT ?"

constexpr const char* cards_between_sql = REEVE_CARDS_BETWEEN("embedding");
constexpr const char* bare_cards_between_sql = REEVE_CARDS_BETWEEN("x''");

constexpr const char* new_cards_sql = R"(
  SELECT seq, id, user_id, created_at, embedding FROM knowledge_cards
  WHERE seq > ? ORDER BY seq)";
constexpr const char* bare_card_sql = R"(
  SELECT id, scrap_id, job_id, user_id, summary, tags, x'', model, created_at
  FROM knowledge_cards WHERE seq = ?)";

daily_summary read_summary(const sqlite_query& row) {
  return {row.text(0), row.maybe_text(1), row.text(2), row.text(3),
          row.time(4), row.time(5),       row.time(6)};
}

til_entry read_til(const sqlite_query& row) {
  til_entry result;
  result.id = row.text(0);
  result.daily_summary_id = row.text(1);
  result.job_id = row.text(2);
  result.user_id = row.maybe_text(3);
  result.content = row.text(4);
  for (const auto& id : row.json(5))
    if (id.is_string())
      result.card_ids.push_back(id.get<std::string>());
  result.model = row.text(6);
  result.created_at = row.time(7);
  return result;
}

recall_entry read_recall(const sqlite_query& row) {
  recall_entry result;
  result.id = row.text(0);
  result.daily_summary_id = row.text(1);
  result.job_id = row.text(2);
  result.user_id = row.maybe_text(3);
  result.content = row.text(4);
  for (const auto& card : row.json(5))
    if (card.is_object())
      result.related.push_back(
        {card.value("card_id", ""), card.value("similarity", 0.0)});
  result.model = row.text(6);
  result.created_at = row.time(7);
  return result;
}

std::vector<knowledge_card> cards_between(
  sqlite_connection& db, const char* sql,
  const std::optional<std::string>& user_id, timestamp from, timestamp to,
  uint32_t limit) {
  std::vector<knowledge_card> result;
  sqlite_query query{db.prepared(sql)};
  query.bind(user_id, from, to, limit);
  while (query.next())
    result.push_back(read_card(query));
  return result;
}

// `query` finds the summary itself.
std::optional<summary_view> view_of(sqlite_connection& db,
                                    sqlite_query& query) {
  if (!query.next())
    return std::nullopt;
  summary_view result;
  result.what = read_summary(query);
  result.cards =
    cards_between(db, bare_cards_between_sql, result.what.user_id,
                  result.what.day_start, result.what.day_end, all_cards);
  {
    sqlite_query til{db.prepared(til_sql)};
    if (til.bind(result.what.id).next())
      result.til = read_til(til);
  }
  sqlite_query recall{db.prepared(recall_sql)};
  if (recall.bind(result.what.id).next())
    result.recall = read_recall(recall);
  return result;
}

} // namespace

write_answer sqlite_writer::on(const summary_write& x, bool repeated) {
  if (auto no = check(x))
    return *std::move(no);
  const auto id = lower_case(x.what.id);
  bool created = false;
  {
    sqlite_query query{db_.prepared(insert_summary_sql)};
    query.bind(id, x.what.user_id, x.what.date, x.what.time_zone,
               x.what.day_start, x.what.day_end, now_);
    created = query.run() > 0;
  }
  sqlite_query query{db_.prepared(same_summary_sql)};
  query.bind(x.what.user_id, x.what.date, x.what.time_zone).next();
  auto known = read_summary(query);
  // An earlier try may have added it.
  created = created || (repeated && known.id == id);
  return stored_summary{std::move(known), created};
}

std::optional<summary_view> sqlite_store::find_summary(const std::string& id) {
  if (!is_uuid(id))
    return std::nullopt;
  return translated([&] {
    auto& db = connection();
    // One snapshot of the summary and all that belongs to it.
    sqlite_transaction snapshot{db, "BEGIN"};
    sqlite_query query{db.prepared(summary_sql)};
    query.bind(lower_case(id));
    return view_of(db, query);
  });
}

std::optional<summary_view> sqlite_store::find_summary_of(
  const std::optional<std::string>& user_id, const std::string& date) {
  return translated([&] {
    auto& db = connection();
    sqlite_transaction snapshot{db, "BEGIN"};
    sqlite_query query{db.prepared(summary_of_sql)};
    query.bind(user_id, date);
    return view_of(db, query);
  });
}

std::vector<knowledge_card> sqlite_store::cards_between(
  const std::optional<std::string>& user_id, timestamp from, timestamp to,
  uint32_t limit) {
  return translated([&] {
    return reeve::cards_between(connection(), cards_between_sql, user_id, from,
                                to, limit);
  });
}

// -- by similarity ------------------------------------------------------------

std::vector<card_hit> sqlite_store::similar_cards(const card_search& what) {
  return translated([&] {
    auto& db = connection();
    sqlite_transaction snapshot{db, "BEGIN"};
    refresh_cards();
    return found_cards(what);
  });
}

// Numbers of cards grow with the commits: one writer at a time has the file.
void sqlite_store::refresh_cards() {
  sqlite_query query{connection().prepared(new_cards_sql)};
  query.bind(cards_.last_seq());
  while (query.next())
    cards_.add(query.integer(0), query.text(1), query.maybe_text(2),
               query.time(3), embedding_from(query.text(4)));
}

std::vector<card_hit> sqlite_store::found_cards(const card_search& what) {
  for (;;) {
    std::vector<card_hit> result;
    bool all_there = true;
    for (const auto& hit :
         cards_.search(what.embedding, what.user_id, what.before, what.limit)) {
      sqlite_query query{connection().prepared(bare_card_sql)};
      if (query.bind(hit.seq).next()) {
        result.push_back({read_card(query), hit.similarity});
      } else {
        // Somebody deleted it by hand.
        cards_.remove(hit.seq);
        all_there = false;
      }
    }
    if (all_there)
      return result;
  }
}

} // namespace reeve
