// persistence/postgres_similar.cpp -- cards by similarity: in memory, or by the
// extension `vector` where they are too many for that.
//
// Both are exact and agree. Memory comes first even where the extension is
// there: among 100,000 cards of 256 dimensions it takes 7 ms for a request
// (bench/recall). A bare statement of the extension took 130 ms on the same
// machine when it casts each row, and 65 ms on a table with a column of its own
// type, most of that to read the pages. Its indexes are fast and not exact.
// What it has for it is that it needs no memory here and no time to load.
#include "persistence/postgres_rows.hpp"
#include "persistence/postgres_store.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/text.hpp"

#include <bit>

namespace reeve {

namespace {

// `l2_normalize` came with 0.7.
constexpr postgres_statement vector_schema_sql{"vector_schema", R"(
  SELECT n.nspname FROM pg_extension e
  JOIN pg_namespace n ON n.oid = e.extnamespace
  WHERE e.extname = 'vector'
    AND EXISTS (SELECT FROM pg_proc p
      WHERE p.pronamespace = n.oid AND p.proname = 'l2_normalize')
    AND pg_table_size('reeve.knowledge_cards') > $1)"};

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
  if (const auto schema = wanted_vector_schema()) {
    if (auto result = nearest_by_vector(what, *schema)) {
      // The table has outgrown it.
      embeddings_ = {};
      recent_cards_.clear();
      return *std::move(result);
    }
    vector_refuses_ = true;
  }
  return nearest_by_index(what);
}

std::optional<std::string> postgres_store::wanted_vector_schema() {
  if (vector_refuses_)
    return std::nullopt;
  return session_.read(
    [&](postgres_snapshot& tx) -> std::optional<std::string> {
      const auto rows = session_.run(tx, vector_schema_sql,
                                     pqxx::params{max_cards_in_memory_bytes_});
      if (rows.empty())
        return std::nullopt;
      return rows[0][0].as<std::string>();
    });
}

// As `embedding_index` does it: lengths in double precision, then the product
// of what has length 1, in steps.
std::optional<std::vector<card_hit>> postgres_store::nearest_by_vector(
  const card_search& what, const std::string& schema) {
  return session_.read(
    [&](postgres_snapshot& tx) -> std::optional<std::vector<card_hit>> {
      const auto in = tx.quote_name(schema) + '.';
      auto direction = [&in](const std::string& array) {
        return in + "l2_normalize(" + array + "::" + in + "vector)";
      };
      std::string sql = "SELECT seq," REEVE_POSTGRES_BARE_CARD_COLUMNS
                        ", round(("
        + direction("embedding") + " OPERATOR(" + in + "<#>) "
        + direction("$1::real[]")
        + ") * -1e6) / 1e6 AS similarity"
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
      sql += " ORDER BY similarity DESC, created_at, seq LIMIT "
        + parameter(int64_t{what.limit});
      try {
        // Compiling takes longer than what it would save.
        tx.exec("SET LOCAL jit = off");
        std::vector<card_hit> result;
        for (const auto& row : tx.exec(sql, params))
          // Without a sign at zero.
          result.push_back({read_card_behind(row), row[10].as<double>() + 0.0});
        return result;
      } catch (const pqxx::data_exception&) {
        // A number that is not finite, or NULL: only SQL can have put it there.
        return std::nullopt;
      } catch (const pqxx::sql_error& err) {
        // Too many dimensions for the type.
        if (err.sqlstate() == "54000")
          return std::nullopt;
        throw;
      }
    });
}

std::vector<card_hit> postgres_store::nearest_by_index(
  const card_search& what) {
  return session_.read([&](postgres_snapshot& tx) {
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

void postgres_store::load_new_cards(pqxx::transaction_base& tx) {
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
