// persistence/postgres_effects.cpp -- what runs make beside their results.
#include "persistence/postgres_rows.hpp"
#include "persistence/postgres_writer.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/uuid.hpp"

namespace reeve {

namespace {

// Targets stay locked until the commit: none can go while something comes
// that belongs to it.
constexpr postgres_statement hold_scraps_sql{"hold_scraps", R"(
  SELECT id FROM reeve.scraps WHERE id = ANY($1::uuid[])
  ORDER BY id FOR KEY SHARE)"};

constexpr postgres_statement hold_summaries_sql{"hold_summaries", R"(
  SELECT id FROM reeve.daily_summaries WHERE id = ANY($1::uuid[])
  ORDER BY id FOR KEY SHARE)"};

// One at a time changes a book: pages that come and go would meet.
constexpr postgres_statement hold_contents_sql{"hold_contents", R"(
  SELECT id FROM reeve.contents WHERE id = ANY($1::uuid[])
  ORDER BY id FOR NO KEY UPDATE)"};

constexpr postgres_statement pages_there_sql{"pages_there", R"(
  SELECT p.content_id, p.number
  FROM unnest($1::uuid[], $2::int[]) AS t(content_id, number)
  JOIN reeve.pages p
    ON p.content_id = t.content_id AND p.number = t.number)"};

// Arrays of arrays would be flattened: the inner ones come as text.
constexpr postgres_statement insert_cards_sql{"insert_cards", R"(
  INSERT INTO reeve.knowledge_cards (id, scrap_id, job_id, user_id, summary,
    tags, embedding, model)
  SELECT id, scrap_id, job_id, user_id, summary, tags::text[],
    embedding::real[], model
  FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[],
    $6::text[], $7::text[], $8::text[])
    AS t(id, scrap_id, job_id, user_id, summary, tags, embedding, model)
  ON CONFLICT (job_id) DO NOTHING)"};

constexpr postgres_statement insert_til_sql{"insert_til", R"(
  INSERT INTO reeve.til_entries (id, daily_summary_id, job_id, user_id, content,
    card_ids, model)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (job_id) DO NOTHING)"};

constexpr postgres_statement insert_recall_sql{"insert_recall", R"(
  INSERT INTO reeve.recalls (id, daily_summary_id, job_id, user_id, content,
    related, model)
  VALUES ($1, $2, $3, $4, $5, $6::jsonb, $7)
  ON CONFLICT (job_id) DO NOTHING)"};

constexpr postgres_statement put_pages_sql{"put_pages", R"(
  INSERT INTO reeve.pages (content_id, number, text)
  SELECT $1::uuid, t.number, t.text
  FROM unnest($2::text[]) WITH ORDINALITY AS t(text, number)
  ON CONFLICT (content_id, number) DO UPDATE SET text = EXCLUDED.text)"};

constexpr postgres_statement drop_pages_sql{"drop_pages", R"(
  DELETE FROM reeve.pages WHERE content_id = $1 AND number > $2)"};

constexpr postgres_statement put_image_sql{"put_image", R"(
  INSERT INTO reeve.page_images (content_id, number, content_type, digest,
    model, data)
  VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (content_id, number) DO UPDATE SET
    content_type = EXCLUDED.content_type, digest = EXCLUDED.digest,
    model = EXCLUDED.model, data = EXCLUDED.data, created_at = now())"};

using texts = std::vector<std::string>;
using maybe_texts = std::vector<std::optional<std::string>>;

/// What effects belong to.
struct effect_targets {
  std::set<std::string> scraps;
  std::set<std::string> summaries;
  std::set<std::string> contents;
  std::set<std::pair<std::string, int>> pages;

  void add(const knowledge_card& x) {
    add(scraps, x.scrap_id);
  }

  void add(const til_entry& x) {
    add(summaries, x.daily_summary_id);
  }

  void add(const recall_entry& x) {
    add(summaries, x.daily_summary_id);
  }

  void add(const book_pages& x) {
    add(contents, x.content_id);
  }

  void add(const page_image& x) {
    add(contents, x.content_id);
    if (is_uuid(x.content_id))
      pages.emplace(lower_case(x.content_id), x.number);
  }

  bool have(const knowledge_card& x) const {
    return scraps.contains(lower_case(x.scrap_id));
  }

  bool have(const til_entry& x) const {
    return summaries.contains(lower_case(x.daily_summary_id));
  }

  bool have(const recall_entry& x) const {
    return summaries.contains(lower_case(x.daily_summary_id));
  }

  bool have(const book_pages& x) const {
    return contents.contains(lower_case(x.content_id));
  }

  bool have(const page_image& x) const {
    const auto id = lower_case(x.content_id);
    return contents.contains(id) && pages.contains({id, x.number});
  }

private:
  // What is no UUID is not there either.
  static void add(std::set<std::string>& ids, const std::string& id) {
    if (is_uuid(id))
      ids.insert(lower_case(id));
  }
};

// True for an image whose page its owner brings along.
bool brings_page(const std::vector<postgres_writer::owned_effect>& all,
                 const postgres_writer::owned_effect& x,
                 const effect_targets& there) {
  const auto* image = std::get_if<page_image>(x.what);
  if (!image || !there.contents.contains(lower_case(image->content_id)))
    return false;
  for (const auto& other : all)
    if (const auto* book = std::get_if<book_pages>(other.what); book
        && other.owner == x.owner
        && lower_case(book->content_id) == lower_case(image->content_id))
      return static_cast<size_t>(image->number) <= book->texts.size();
  return false;
}

} // namespace

// Stores all effects of those owners whose targets are all there; answers with
// the others.
std::set<size_t> postgres_writer::store_effects(
  const std::vector<owned_effect>& all) {
  if (all.empty())
    return {};
  auto gone = find_gone(all);
  std::vector<const knowledge_card*> cards;
  std::vector<const page_image*> images;
  for (const auto& [owner, what] : all) {
    if (gone.contains(owner))
      continue;
    if (const auto* card = std::get_if<knowledge_card>(what))
      cards.push_back(card);
    else if (const auto* image = std::get_if<page_image>(what))
      images.push_back(image);
    else if (const auto* til = std::get_if<til_entry>(what))
      store(*til);
    else if (const auto* recall = std::get_if<recall_entry>(what))
      store(*recall);
    else if (const auto* book = std::get_if<book_pages>(what))
      store(*book);
  }
  store(cards);
  // After the pages that they belong to.
  for (const auto* image : images)
    store(*image);
  return gone;
}

std::set<size_t> postgres_writer::find_gone(
  const std::vector<owned_effect>& all) {
  effect_targets wanted, there;
  for (const auto& x : all)
    std::visit([&](const auto& effect) { wanted.add(effect); }, *x.what);
  auto hold = [this](const postgres_statement& sql,
                     const std::set<std::string>& ids,
                     std::set<std::string>& result) {
    if (ids.empty())
      return;
    const texts list{ids.begin(), ids.end()};
    for (const auto& row : run(sql, pqxx::params{list}))
      result.insert(row[0].as<std::string>());
  };
  hold(hold_scraps_sql, wanted.scraps, there.scraps);
  hold(hold_summaries_sql, wanted.summaries, there.summaries);
  hold(hold_contents_sql, wanted.contents, there.contents);
  if (!wanted.pages.empty()) {
    texts ids;
    std::vector<int> numbers;
    for (const auto& [id, number] : wanted.pages) {
      ids.push_back(id);
      numbers.push_back(number);
    }
    for (const auto& row : run(pages_there_sql, pqxx::params{ids, numbers}))
      there.pages.emplace(row[0].as<std::string>(), row[1].as<int>());
  }
  std::set<size_t> result;
  for (const auto& x : all) {
    const auto found = std::visit(
      [&](const auto& effect) { return there.have(effect); }, *x.what);
    if (!found && !brings_page(all, x, there))
      result.insert(x.owner);
  }
  return result;
}

void postgres_writer::store(const std::vector<const knowledge_card*>& cards) {
  texts ids, scraps, jobs, summaries, tags, embeddings, models;
  maybe_texts users;
  for (const auto* card : cards) {
    ids.push_back(lower_case(card->id));
    scraps.push_back(lower_case(card->scrap_id));
    jobs.push_back(lower_case(card->job_id));
    users.push_back(card->user_id);
    summaries.push_back(card->summary);
    tags.push_back(pqxx::to_string(card->tags));
    embeddings.push_back(pqxx::to_string(card->embedding));
    models.push_back(card->model);
  }
  if (!ids.empty())
    run(insert_cards_sql,
        pqxx::params{ids, scraps, jobs, users, summaries, tags, embeddings,
                     models});
}

void postgres_writer::store(const til_entry& x) {
  run(insert_til_sql,
      pqxx::params{x.id, x.daily_summary_id, x.job_id, x.user_id, x.content,
                   x.card_ids, x.model});
}

void postgres_writer::store(const recall_entry& x) {
  auto related = nlohmann::json::array();
  for (const auto& card : x.related)
    related.push_back(
      {{"card_id", card.card_id}, {"similarity", card.similarity}});
  run(insert_recall_sql,
      pqxx::params{x.id, x.daily_summary_id, x.job_id, x.user_id, x.content,
                   related.dump(), x.model});
}

void postgres_writer::store(const book_pages& x) {
  run(put_pages_sql, pqxx::params{x.content_id, x.texts});
  run(drop_pages_sql,
      pqxx::params{x.content_id, static_cast<int64_t>(x.texts.size())});
}

void postgres_writer::store(const page_image& x) {
  run(put_image_sql,
      pqxx::params{x.content_id, x.number, x.info.content_type, x.info.digest,
                   x.info.model, pqxx::binary_cast(*x.data)});
}

} // namespace reeve
