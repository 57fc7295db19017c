// tests/integration/persistence/postgres_vector.test.cpp -- similarity by the
// extension `vector`: what both stores must pass, and the same answers as in
// memory. Reported as skipped where the server does not have it.
#define CAF_SUITE persistence.postgres_vector

#include "conformance_fixture.hpp"

#include <cmath>
#include <limits>
#include <map>

#include "postgres_backend.hpp"

namespace reeve {

/// Searches by the extension, as if memory were scarce.
class vector_backend : public postgres_backend {
public:
  vector_backend() {
    if (available())
      sql("CREATE SCHEMA \"the \"\"types\"\" of all\";"
          "CREATE EXTENSION vector SCHEMA \"the \"\"types\"\" of all\"");
    else
      MESSAGE("SKIPPED: the server does not have the extension `vector`");
  }

  std::unique_ptr<job_store> connect() {
    return std::make_unique<postgres_store>(url, "", 0);
  }

  std::unique_ptr<job_store> connect_in_memory() {
    return postgres_backend::connect();
  }

  bool available() {
    return number("SELECT count(*) FROM pg_available_extensions"
                  " WHERE name = 'vector'")
      > 0;
  }

  void sql(const std::string& text) {
    pqxx::connection db{url};
    pqxx::nontransaction{db}.exec(text);
  }
};

} // namespace reeve

using namespace reeve;

using fixture = conformance_fixture<vector_backend>;

#include "conformance_san.hpp"

namespace {

struct vector_fixture : fixture {
  std::unique_ptr<job_store> in_memory = backend.connect_in_memory();

  // Cards of 16 dimensions: four of each direction, of lengths whose squares
  // single precision does not have; some without a direction, some of 17
  // dimensions, some of the same instant.
  void insert_cards() {
    backend.sql(R"(
      INSERT INTO reeve.knowledge_cards (id, scrap_id, job_id, user_id,
        summary, tags, embedding, model, created_at)
      SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(),
        CASE WHEN i % 3 = 0 THEN 'user' END, i::text, '{}',
        ARRAY(SELECT CASE WHEN i % 500 = 9 THEN 0
                ELSE ((sin(i / 4 * d * 0.37) + 0.01)::real
                  * (ARRAY[1, 8, 2.0^100, 0.5^100])[1 + i % 4])::real END
              FROM generate_series(1, CASE WHEN i % 7 = 6 THEN 17
                                      ELSE 16 END) d), '',
        now() - i / 2 * interval '1 minute'
      FROM generate_series(1, 6000) i)");
  }

  static card_search some_search() {
    card_search result;
    for (int d = 1; d <= 16; ++d)
      result.embedding.push_back(static_cast<float>(d % 5) - 2);
    result.limit = 50;
    return result;
  }

  // The cosines, computed by another way: in SQL, in double precision.
  std::map<std::string, double> cosines() {
    pqxx::connection db{backend.url};
    std::map<std::string, double> result;
    for (const auto& row : pqxx::nontransaction{db}.exec(
           R"(
      SELECT c.id, coalesce(sum(x * y) / nullif(sqrt(sum(x * x)), 0)
                              / sqrt(sum(y * y)), 0)
      FROM reeve.knowledge_cards c,
        unnest(c.embedding::float8[], $1::float8[]) AS t(x, y)
      WHERE array_length(c.embedding, 1) = 16 GROUP BY c.id)",
           pqxx::params{some_search().embedding}))
      result.emplace(row[0].as<std::string>(), row[1].as<double>());
    return result;
  }

  std::string difference(const card_search& what) {
    const auto mine = store->similar_cards(what);
    const auto theirs = in_memory->similar_cards(what);
    if (mine.size() != theirs.size())
      return std::to_string(mine.size()) + " and "
        + std::to_string(theirs.size()) + " cards";
    for (size_t i = 0; i < mine.size(); ++i)
      if (mine[i].card.id != theirs[i].card.id
          || std::abs(mine[i].similarity - theirs[i].similarity) > 1.5e-6)
        return std::to_string(i) + ": card " + mine[i].card.summary + ' '
          + std::to_string(mine[i].similarity) + " and "
          + theirs[i].card.summary + ' ' + std::to_string(theirs[i].similarity);
    return "";
  }

  static double best(job_store& which) {
    return which.similar_cards(some_search()).at(0).similarity;
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(vector_fixture)

SCENARIO("the extension and the search in memory give the same answers") {
  insert_cards();
  const auto known = cosines();
  auto what = some_search();
  auto last = 1.0;
  for (const auto& hit : store->similar_cards(what)) {
    CHECK(std::abs(hit.similarity - known.at(hit.card.id)) < 1e-6);
    CHECK(hit.similarity <= last);
    CHECK(hit.card.embedding.empty());
    last = hit.similarity;
  }
  CHECK_EQ(difference(what), "");
  for (uint32_t limit : {1, 2, 3, 5, 6'000}) {
    what.limit = limit;
    CHECK_EQ(difference(what), "");
  }
  what.limit = 50;
  what.user_id = "user";
  CHECK_EQ(difference(what), "");
  what.before = std::chrono::time_point_cast<std::chrono::microseconds>(
    std::chrono::system_clock::now() - std::chrono::hours{10});
  CHECK_EQ(difference(what), "");
  for (const auto& hit : store->similar_cards(what)) {
    CHECK(hit.card.user_id == "user");
    CHECK(hit.card.created_at < *what.before);
  }
  what.user_id.reset();
  CHECK_EQ(difference(what), "");
  for (auto factor : {0.0f, -1.0f, 1e-30f, 1e30f}) {
    what = some_search();
    for (auto& x : what.embedding)
      x *= factor;
    CHECK_EQ(difference(what), "");
  }
  what = some_search();
  what.embedding.push_back(1);
  CHECK_EQ(store->similar_cards(what).size(), 50u);
  CHECK_EQ(difference(what), "");
  what.embedding.resize(20'000);
  CHECK_EQ(difference(what), "");
}

SCENARIO("the extension searches only when the table is large") {
  if (!backend.available())
    return;
  insert_cards();
  const auto right = best(*in_memory);
  CHECK_EQ(best(*store), right);
  // To tell who was asked: an extension that forgets to look at the length.
  backend.sql(R"(
    SET search_path = "the ""types"" of all";
    CREATE OR REPLACE FUNCTION l2_normalize(vector) RETURNS vector
      LANGUAGE sql IMMUTABLE AS 'SELECT $1')");
  CHECK(best(*store) > 1);
  CHECK_EQ(best(*in_memory), right);
  // Too old.
  backend.sql(R"(
    SET search_path = "the ""types"" of all";
    ALTER FUNCTION l2_normalize(vector) RENAME TO later;
    ALTER FUNCTION l2_normalize(halfvec) RENAME TO later;
    ALTER FUNCTION l2_normalize(sparsevec) RENAME TO later)");
  CHECK_EQ(best(*store), right);
  backend.sql(R"(
    SET search_path = "the ""types"" of all";
    ALTER FUNCTION later(vector) RENAME TO l2_normalize)");
  CHECK(best(*store) > 1);
  backend.sql("DROP EXTENSION vector");
  CHECK_EQ(best(*store), right);
  CHECK_EQ(difference(some_search()), "");
}

SCENARIO("an embedding that the extension refuses hinders no search") {
  insert_cards();
  CHECK_EQ(difference(some_search()), "");
  for (const auto* refused : {"'NaN'", "'Infinity'", "NULL"}) {
    backend.sql(std::string{"UPDATE reeve.knowledge_cards SET embedding[3] = "}
                + refused + " WHERE summary = '12'");
    store = backend.connect();
    in_memory = backend.connect_in_memory();
    CHECK_EQ(store->similar_cards(some_search()).size(), 50u);
    CHECK_EQ(difference(some_search()), "");
    CHECK_EQ(difference(some_search()), "");
  }
}

END_FIXTURE_SCOPE()
