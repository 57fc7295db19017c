// persistence/postgres_san.cpp -- days of cards, and what was made of them.
#include "persistence/postgres_rows.hpp"
#include "persistence/postgres_store.hpp"
#include "persistence/postgres_writer.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/text.hpp"
#include "persistence/uuid.hpp"

namespace reeve {

namespace {

#define REEVE_SUMMARY_COLUMNS \
  " id, user_id, to_char(date, 'YYYY-MM-DD'), time_zone," \
  " reeve.micros(day_start), reeve.micros(day_end)," \
  " reeve.micros(created_at) "

constexpr postgres_statement add_summary_sql{"add_summary", R"(
  INSERT INTO reeve.daily_summaries (id, user_id, date, time_zone, day_start,
    day_end)
  VALUES ($1, $2, $3::text::date, $4, reeve.instant($5), reeve.instant($6))
  ON CONFLICT DO NOTHING RETURNING)" REEVE_SUMMARY_COLUMNS};

constexpr postgres_statement same_summary_sql{"same_summary",
                                              "SELECT" REEVE_SUMMARY_COLUMNS R"(
  FROM reeve.daily_summaries
  WHERE coalesce(user_id, '') = coalesce($1::text, '')
    AND date = $2::text::date AND time_zone = $3)"};

constexpr postgres_statement summary_sql{
  "summary",
  "SELECT" REEVE_SUMMARY_COLUMNS "FROM reeve.daily_summaries WHERE id = $1"};

constexpr postgres_statement summary_of_sql{"summary_of",
                                            "SELECT" REEVE_SUMMARY_COLUMNS R"(
  FROM reeve.daily_summaries
  WHERE coalesce(user_id, '') = coalesce($1::text, '')
    AND date = $2::text::date
  ORDER BY seq DESC LIMIT 1)"};

#define REEVE_CARDS_BETWEEN \
  "FROM reeve.knowledge_cards" \
  " WHERE coalesce(user_id, '') = coalesce($1::text, '')" \
  " AND created_at >= reeve.instant($2) AND created_at < reeve.instant($3)" \
  " ORDER BY created_at, seq "

constexpr postgres_statement cards_of_day_sql{
  "cards_of_day",
  "SELECT" REEVE_POSTGRES_BARE_CARD_COLUMNS REEVE_CARDS_BETWEEN};

constexpr postgres_statement cards_between_sql{
  "cards_between",
  "SELECT" REEVE_POSTGRES_CARD_COLUMNS REEVE_CARDS_BETWEEN "LIMIT $4"};

constexpr postgres_statement til_sql{"til", R"(
  SELECT id, daily_summary_id, job_id, user_id, content, card_ids, model,
    reeve.micros(created_at)
  FROM reeve.til_entries WHERE daily_summary_id = $1
  ORDER BY seq DESC LIMIT 1)"};

constexpr postgres_statement recall_sql{"recall", R"(
  SELECT id, daily_summary_id, job_id, user_id, content, related, model,
    reeve.micros(created_at)
  FROM reeve.recalls WHERE daily_summary_id = $1
  ORDER BY seq DESC LIMIT 1)"};

daily_summary read_summary(const pqxx::row& row) {
  daily_summary result;
  result.id = row[0].as<std::string>();
  result.user_id = read_text(row[1]);
  result.date = row[2].as<std::string>();
  result.time_zone = row[3].as<std::string>();
  result.day_start = read_time(row[4]);
  result.day_end = read_time(row[5]);
  result.created_at = read_time(row[6]);
  return result;
}

// What til_entry and recall_entry have in common.
template <class T>
T read_entry(const pqxx::row& row) {
  T result;
  result.id = row[0].as<std::string>();
  result.daily_summary_id = row[1].as<std::string>();
  result.job_id = row[2].as<std::string>();
  result.user_id = read_text(row[3]);
  result.content = row[4].as<std::string>();
  result.model = row[6].as<std::string>();
  result.created_at = read_time(row[7]);
  return result;
}

til_entry read_til(const pqxx::row& row) {
  auto result = read_entry<til_entry>(row);
  result.card_ids = read_texts(row[5]);
  return result;
}

recall_entry read_recall(const pqxx::row& row) {
  auto result = read_entry<recall_entry>(row);
  for (const auto& x : read_json(row[5]))
    result.related.push_back(
      {x.at("card_id").get<std::string>(), x.at("similarity").get<double>()});
  return result;
}

std::optional<summary_view> view_of(postgres_session& session,
                                    postgres_snapshot& tx,
                                    std::optional<daily_summary> what) {
  if (!what)
    return std::nullopt;
  summary_view result;
  result.what = *std::move(what);
  const auto& x = result.what;
  result.cards =
    all_rows(session.run(
               tx, cards_of_day_sql,
               pqxx::params{x.user_id, micros(x.day_start), micros(x.day_end)}),
             read_card);
  result.til =
    first_row(session.run(tx, til_sql, pqxx::params{x.id}), read_til);
  result.recall =
    first_row(session.run(tx, recall_sql, pqxx::params{x.id}), read_recall);
  return result;
}

// Nobody has the user '', which stands for nobody in the indexes.
bool is_possible(const std::optional<std::string>& user_id) {
  return !user_id || (!user_id->empty() && is_storable(*user_id));
}

} // namespace

void postgres_writer::add_summary(const slot<summary_write>& x) {
  const auto& what = x.what.what;
  if (auto no = check(x.what)) {
    x.answer = *std::move(no);
    return;
  }
  auto added =
    run(add_summary_sql,
        pqxx::params{what.id, what.user_id, what.date, what.time_zone,
                     micros(what.day_start), micros(what.day_end)});
  if (!added.empty()) {
    x.answer = stored_summary{read_summary(added[0]), true};
    return;
  }
  auto same = run(same_summary_sql,
                  pqxx::params{what.user_id, what.date, what.time_zone});
  if (same.empty()) {
    x.answer = refusal{refusal_code::invalid_argument,
                       "another summary has the id " + what.id};
    return;
  }
  auto found = read_summary(same[0]);
  const auto ours = x.repeated && found.id == lower_case(what.id);
  x.answer = stored_summary{std::move(found), ours};
}

std::optional<summary_view> postgres_store::find_summary(
  const std::string& id) {
  if (!is_uuid(id))
    return std::nullopt;
  return session_.read([&](postgres_snapshot& tx) {
    return view_of(
      session_, tx,
      first_row(session_.run(tx, summary_sql, pqxx::params{id}), read_summary));
  });
}

std::optional<summary_view> postgres_store::find_summary_of(
  const std::optional<std::string>& user_id, const std::string& date) {
  if (!is_date(date) || !is_possible(user_id))
    return std::nullopt;
  return session_.read([&](postgres_snapshot& tx) {
    return view_of(
      session_, tx,
      first_row(session_.run(tx, summary_of_sql, pqxx::params{user_id, date}),
                read_summary));
  });
}

std::vector<knowledge_card> postgres_store::cards_between(
  const std::optional<std::string>& user_id, timestamp from, timestamp to,
  uint32_t limit) {
  if (!is_possible(user_id))
    return {};
  const auto first = std::clamp(from, earliest_timestamp, latest_timestamp);
  const auto last = std::clamp(to, earliest_timestamp, latest_timestamp);
  return session_.read([&](postgres_snapshot& tx) {
    return all_rows(session_.run(tx, cards_between_sql,
                                 pqxx::params{user_id, micros(first),
                                              micros(last), int64_t{limit}}),
                    read_card);
  });
}

} // namespace reeve
