// persistence/postgres_similar.cpp -- cards by similarity: with the extension
// `vector` in the database, without it in memory.
#include "persistence/postgres_rows.hpp"
#include "persistence/postgres_store.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/text.hpp"

#include <bit>

namespace reeve {

namespace {

constexpr postgres_statement vector_schema_sql{"vector_schema", R"(
  SELECT n.nspname FROM pg_extension e
  JOIN pg_namespace n ON n.oid = e.extnamespace
  WHERE e.extname = 'vector')"};

// The type's own limit.
constexpr size_t max_vector_dimensions = 16'000;

constexpr postgres_statement new_cards_sql{"new_cards", R"(
  SELECT seq, id, user_id, reeve.micros(created_at), array_send(embedding)
  FROM reeve.knowledge_cards
  WHERE seq > $1 AND seq <> ALL($2::bigint[]) ORDER BY seq LIMIT $3)"};

constexpr postgres_statement cards_by_seq_sql{
  "cards_by_seq",
  "SELECT seq," REEVE_POSTGRES_BARE_CARD_COLUMNS
  "FROM reeve.knowledge_cards WHERE seq = ANY($1::bigint[])"};

// Numbers are given out before they are committed: a card may appear this far
// behind the newest one.
constexpr int64_t look_back = 500;
constexpr int64_t cards_a_page = 5'000;

uint32_t big_endian(const std::byte* at) {
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i)
    result = (result << 8) | std::to_integer<uint32_t>(at[i]);
  return result;
}

// The binary form of a `real[]`: dimensions, flags and type, for the dimension
// its size and lower bound, for each element its size and value.
std::vector<float> read_embedding(const pqxx::field& field) {
  const auto bytes = field.as<pqxx::bytes>();
  constexpr size_t header = 20;
  std::vector<float> result;
  if (bytes.size() < header)
    return result;
  const auto count = big_endian(bytes.data() + 12);
  if (bytes.size() != header + size_t{count} * 8)
    return result;
  result.reserve(count);
  for (size_t i = 0; i < count; ++i)
    result.push_back(
      std::bit_cast<float>(big_endian(bytes.data() + header + i * 8 + 4)));
  return result;
}

// The card's own columns come behind `seq`.
knowledge_card read_card_behind(const pqxx::row& row) {
  knowledge_card result;
  result.id = row[1].as<std::string>();
  result.scrap_id = row[2].as<std::string>();
  result.job_id = row[3].as<std::string>();
  result.user_id = read_text(row[4]);
  result.summary = row[5].as<std::string>();
  result.tags = read_texts(row[6]);
  result.model = row[8].as<std::string>();
  result.created_at = read_time(row[9]);
  return result;
}

} // namespace

std::vector<card_hit> postgres_store::similar_cards(const card_search& what) {
  if (what.embedding.empty() || what.limit == 0
      || (what.user_id && !is_storable(*what.user_id)))
    return {};
  const auto schema = session_.read([&](pqxx::work& tx) {
    const auto rows = session_.run(tx, vector_schema_sql);
    return rows.empty() ? std::string{} : rows[0][0].as<std::string>();
  });
  if (!schema.empty() && what.embedding.size() <= max_vector_dimensions)
    return nearest_by_vector(what, schema);
  return nearest_by_index(what);
}

// The distance of a vector without a direction is NaN: it resembles nothing.
std::vector<card_hit> postgres_store::nearest_by_vector(
  const card_search& what, const std::string& schema) {
  return session_.read([&](pqxx::work& tx) {
    const auto type = tx.quote_name(schema) + ".vector";
    const auto distance = "embedding::" + type + " OPERATOR("
      + tx.quote_name(schema) + ".<=>) $1::real[]::" + type;
    std::string sql = "SELECT seq," REEVE_POSTGRES_BARE_CARD_COLUMNS
                      ", coalesce(nullif(1 - ("
      + distance
      + "), 'NaN'), 0) AS similarity"
        " FROM reeve.knowledge_cards WHERE array_length(embedding, 1) = $2";
    pqxx::params params{what.embedding,
                        static_cast<int64_t>(what.embedding.size())};
    auto parameter = [&params](const auto& value) {
      params.append(value);
      return '$' + std::to_string(params.size());
    };
    if (what.user_id)
      sql += " AND user_id = " + parameter(*what.user_id);
    if (what.before)
      sql += " AND created_at < reeve.instant("
        + parameter(micros(
          std::clamp(*what.before, earliest_timestamp, latest_timestamp)))
        + ")";
    sql +=
      " ORDER BY similarity DESC, seq LIMIT " + parameter(int64_t{what.limit});
    std::vector<card_hit> result;
    for (const auto& row : tx.exec(sql, params))
      result.push_back({read_card_behind(row), row[10].as<double>()});
    return result;
  });
}

std::vector<card_hit> postgres_store::nearest_by_index(
  const card_search& what) {
  return session_.read([&](pqxx::work& tx) {
    load_new_cards(tx);
    for (;;) {
      const auto hits = embeddings_.search(what.embedding, what.user_id,
                                           what.before, what.limit);
      std::vector<int64_t> seqs;
      for (const auto& hit : hits)
        seqs.push_back(hit.seq);
      std::map<int64_t, knowledge_card> cards;
      for (const auto& row :
           session_.run(tx, cards_by_seq_sql, pqxx::params{seqs}))
        cards.emplace(row[0].as<int64_t>(), read_card_behind(row));
      std::vector<card_hit> result;
      for (const auto& hit : hits) {
        const auto i = cards.find(hit.seq);
        // Somebody deleted it.
        if (i == cards.end())
          embeddings_.remove(hit.seq);
        else
          result.push_back({std::move(i->second), hit.similarity});
      }
      if (result.size() == hits.size())
        return result;
    }
  });
}

void postgres_store::load_new_cards(pqxx::work& tx) {
  const auto start = std::max<int64_t>(embeddings_.last_seq() - look_back, 0);
  recent_cards_.erase(recent_cards_.begin(), recent_cards_.upper_bound(start));
  std::vector<int64_t> known{recent_cards_.begin(), recent_cards_.end()};
  for (auto after = start;;) {
    const auto rows =
      session_.run(tx, new_cards_sql, pqxx::params{after, known, cards_a_page});
    for (const auto& row : rows) {
      after = row[0].as<int64_t>();
      embeddings_.add(after, row[1].as<std::string>(), read_text(row[2]),
                      read_time(row[3]), read_embedding(row[4]));
      recent_cards_.insert(after);
      if (static_cast<int64_t>(recent_cards_.size()) > 2 * look_back)
        recent_cards_.erase(recent_cards_.begin());
    }
    if (rows.size() < cards_a_page)
      return;
  }
}

} // namespace reeve
