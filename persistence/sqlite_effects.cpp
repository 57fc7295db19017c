// persistence/sqlite_effects.cpp -- what runs make beside their results.
#include "persistence/sqlite_rows.hpp"
#include "persistence/sqlite_writer.hpp"
#include "persistence/store_rules.hpp"

#include <algorithm>

namespace reeve {

namespace {

constexpr const char* scrap_exists_sql = "SELECT 1 FROM scraps WHERE id = ?";
constexpr const char* summary_exists_sql =
  "SELECT 1 FROM daily_summaries WHERE id = ?";
constexpr const char* content_exists_sql =
  "SELECT 1 FROM contents WHERE id = ?";
constexpr const char* page_exists_sql =
  "SELECT 1 FROM pages WHERE content_id = ? AND number = ?";

// A job stores one of each, however often it runs.
constexpr const char* insert_card_sql = R"(
  INSERT INTO knowledge_cards (id, scrap_id, job_id, user_id, summary, tags,
    model, created_at, embedding)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (job_id) DO NOTHING)";
constexpr const char* insert_til_sql = R"(
  INSERT INTO til_entries (id, daily_summary_id, job_id, user_id, content,
    card_ids, model, created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (job_id) DO NOTHING)";
constexpr const char* insert_recall_sql = R"(
  INSERT INTO recalls (id, daily_summary_id, job_id, user_id, content,
    related, model, created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (job_id) DO NOTHING)";

constexpr const char* put_page_sql = R"(
  INSERT INTO pages (content_id, number, text) VALUES (?, ?, ?)
  ON CONFLICT (content_id, number) DO UPDATE SET text = excluded.text)";
constexpr const char* drop_surplus_sql = R"(
  DELETE FROM pages WHERE content_id = ? AND number > ?)";

constexpr const char* put_image_sql = R"(
  INSERT INTO page_images (content_id, number, content_type, bytes, digest,
    model, created_at, data)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (content_id, number) DO UPDATE SET
    content_type = excluded.content_type, bytes = excluded.bytes,
    digest = excluded.digest, model = excluded.model,
    created_at = excluded.created_at, data = excluded.data)";

template <class... Ts>
bool exists(sqlite_connection& db, const char* sql, const Ts&... key) {
  sqlite_query query{db.prepared(sql)};
  return query.bind(key...).next();
}

} // namespace

bool sqlite_writer::store_effects(const std::vector<effect>& effects,
                                  const std::string& job_id) {
  if (effects.empty())
    return true;
  // `effect` lists pages before their pictures, which may come in any order.
  std::vector<const effect*> order;
  for (const auto& x : effects)
    order.push_back(&x);
  std::stable_sort(order.begin(), order.end(),
                   [](auto* a, auto* b) { return a->index() < b->index(); });
  sqlite_savepoint all_or_none{db_};
  for (const auto* x : order)
    if (!std::visit([&](const auto& what) { return store(what, job_id); }, *x))
      return false;
  all_or_none.keep();
  return true;
}

bool sqlite_writer::store(const knowledge_card& x, const std::string& job_id) {
  const auto scrap_id = lower_case(x.scrap_id);
  if (!exists(db_, scrap_exists_sql, scrap_id))
    return false;
  sqlite_query query{db_.prepared(insert_card_sql)};
  query.bind(lower_case(x.id), scrap_id, job_id, x.user_id, x.summary,
             nlohmann::json(x.tags).dump(), x.model, now_);
  query.bind_blob(embedding_bytes(x.embedding)).run();
  return true;
}

bool sqlite_writer::store(const til_entry& x, const std::string& job_id) {
  const auto summary_id = lower_case(x.daily_summary_id);
  if (!exists(db_, summary_exists_sql, summary_id))
    return false;
  sqlite_query query{db_.prepared(insert_til_sql)};
  query.bind(lower_case(x.id), summary_id, job_id, x.user_id, x.content,
             nlohmann::json(x.card_ids).dump(), x.model, now_);
  query.run();
  return true;
}

bool sqlite_writer::store(const recall_entry& x, const std::string& job_id) {
  const auto summary_id = lower_case(x.daily_summary_id);
  if (!exists(db_, summary_exists_sql, summary_id))
    return false;
  auto related = nlohmann::json::array();
  for (const auto& card : x.related)
    related.push_back(
      {{"card_id", card.card_id}, {"similarity", card.similarity}});
  sqlite_query query{db_.prepared(insert_recall_sql)};
  query.bind(lower_case(x.id), summary_id, job_id, x.user_id, x.content,
             related.dump(), x.model, now_);
  query.run();
  return true;
}

bool sqlite_writer::store(const book_pages& x, const std::string&) {
  const auto content_id = lower_case(x.content_id);
  if (!exists(db_, content_exists_sql, content_id))
    return false;
  int32_t number = 0;
  for (const auto& text : x.texts) {
    sqlite_query query{db_.prepared(put_page_sql)};
    query.bind(content_id, ++number, text).run();
  }
  sqlite_query query{db_.prepared(drop_surplus_sql)};
  query.bind(content_id, number).run();
  return true;
}

bool sqlite_writer::store(const page_image& x, const std::string&) {
  const auto content_id = lower_case(x.content_id);
  if (!exists(db_, page_exists_sql, content_id, x.number))
    return false;
  sqlite_query query{db_.prepared(put_image_sql)};
  query.bind(content_id, x.number, x.info.content_type,
             static_cast<int64_t>(x.data->size()), x.info.digest, x.info.model,
             now_);
  query.bind_blob(*x.data).run();
  return true;
}

} // namespace reeve
