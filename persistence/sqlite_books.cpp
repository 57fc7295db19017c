// persistence/sqlite_books.cpp -- picture books and their pages.
#include "persistence/sqlite_rows.hpp"
#include "persistence/sqlite_store.hpp"
#include "persistence/sqlite_writer.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/uuid.hpp"

namespace reeve {

namespace {

constexpr const char* insert_content_sql = R"(
  INSERT INTO contents (id, job_id, user_id, title, prompt, page_count,
    created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?))";

constexpr const char* content_sql = R"(
  SELECT id, job_id, user_id, title, prompt, page_count, created_at
  FROM contents WHERE id = ?)";

constexpr const char* list_contents_sql = R"(
  SELECT id FROM contents WHERE id < ? ORDER BY id DESC LIMIT ?)";

constexpr const char* pages_sql = R"(
  SELECT p.number, p.text, i.content_type, i.bytes, i.digest, i.model,
    i.created_at
  FROM pages p LEFT JOIN page_images i
    ON i.content_id = p.content_id AND i.number = p.number
  WHERE p.content_id = ? ORDER BY p.number)";

constexpr const char* image_sql = R"(
  SELECT number, data, content_type, bytes, digest, model, created_at
  FROM page_images WHERE content_id = ? AND number = ?)";

// Columns from the third on: content_type, bytes, digest, model, created_at.
image_info read_image_info(const sqlite_query& row) {
  return {row.text(2), static_cast<size_t>(row.integer(3)), row.text(4),
          row.text(5), row.time(6)};
}

// A book's state is that of the job that makes it. It outlives that job: then
// what is there is all there will ever be.
void show(content& what, const std::optional<job>& maker) {
  if (!maker) {
    what.status = job_status::completed;
    what.progress_percent = 100;
    return;
  }
  what.status = maker->status;
  what.progress_percent = maker->progress_percent;
  what.progress_message = maker->progress_message;
  what.error_message = maker->error_message;
}

// `id` in lower case.
std::optional<content> read_content(sqlite_connection& db,
                                    const std::string& id) {
  content result;
  {
    sqlite_query query{db.prepared(content_sql)};
    if (!query.bind(id).next())
      return std::nullopt;
    result.id = query.text(0);
    result.job_id = query.text(1);
    result.user_id = query.maybe_text(2);
    result.title = query.text(3);
    result.prompt = query.text(4);
    result.page_count = static_cast<int>(query.integer(5));
    result.created_at = query.time(6);
  }
  {
    sqlite_query query{db.prepared(pages_sql)};
    query.bind(result.id);
    while (query.next()) {
      page next{static_cast<int>(query.integer(0)), query.text(1), {}};
      if (!query.is_null(2))
        next.image = read_image_info(query);
      result.pages.push_back(std::move(next));
    }
  }
  show(result, job_by_id(db, result.job_id));
  return result;
}

} // namespace

void sqlite_writer::insert_content(const content& x) {
  sqlite_query query{db_.prepared(insert_content_sql)};
  query.bind(lower_case(x.id), lower_case(x.job_id), x.user_id, x.title,
             x.prompt, x.page_count, now_);
  query.run();
}

std::optional<content> sqlite_store::find_content(const std::string& id) {
  if (!is_uuid(id))
    return std::nullopt;
  return translated([&] {
    auto& db = connection();
    // One snapshot of the book, its job and its pages.
    sqlite_transaction snapshot{db, "BEGIN"};
    return read_content(db, lower_case(id));
  });
}

std::vector<content> sqlite_store::list_contents(
  const std::optional<std::string>& before_id, uint32_t limit) {
  std::vector<content> result;
  const auto before = lower_case(before_id.value_or(std::string{last_uuid}));
  if (!is_uuid(before))
    return result;
  translated([&] {
    auto& db = connection();
    sqlite_transaction snapshot{db, "BEGIN"};
    sqlite_query query{db.prepared(list_contents_sql)};
    query.bind(before, limit);
    while (query.next())
      if (auto next = read_content(db, query.text(0)))
        result.push_back(*std::move(next));
  });
  return result;
}

std::optional<page_image> sqlite_store::find_image(
  const std::string& content_id, int number) {
  if (!is_uuid(content_id))
    return std::nullopt;
  return translated([&]() -> std::optional<page_image> {
    sqlite_query query{connection().prepared(image_sql)};
    const auto id = lower_case(content_id);
    if (!query.bind(id, number).next())
      return std::nullopt;
    return page_image{id, number, read_image_info(query),
                      std::make_shared<const std::string>(query.text(1))};
  });
}

} // namespace reeve
