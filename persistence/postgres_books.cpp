// persistence/postgres_books.cpp -- picture books and their pictures.
#include "persistence/postgres_rows.hpp"
#include "persistence/postgres_store.hpp"
#include "persistence/uuid.hpp"

#include <functional>
#include <map>

namespace reeve {

namespace {

constexpr postgres_statement list_contents_sql{"list_contents", R"(
  SELECT id FROM reeve.contents WHERE id < $1 ORDER BY id DESC LIMIT $2)"};

// A book outlives its job: what is there is all there will ever be. A lateral
// query: the jobs of a few books are looked up, whatever the planner thinks of
// the tables.
constexpr postgres_statement contents_sql{"contents", R"(
  SELECT c.id, c.job_id, c.user_id, c.title, c.prompt, c.page_count,
    reeve.micros(c.created_at), coalesce(j.status, 'COMPLETED'),
    coalesce(j.progress_percent, 100), coalesce(j.progress_message, ''),
    j.error_message
  FROM reeve.contents c
  LEFT JOIN LATERAL (SELECT * FROM reeve.jobs WHERE id = c.job_id LIMIT 1) j
    ON true
  WHERE c.id = ANY($1::uuid[]) ORDER BY c.id DESC)"};

constexpr postgres_statement pages_sql{"pages", R"(
  SELECT p.number, p.text, i.content_type, octet_length(i.data), i.digest,
    i.model, reeve.micros(i.created_at), p.content_id
  FROM reeve.pages p LEFT JOIN reeve.page_images i
    ON i.content_id = p.content_id AND i.number = p.number
  WHERE p.content_id = ANY($1::uuid[]) ORDER BY p.content_id, p.number)"};

constexpr postgres_statement image_sql{"image", R"(
  SELECT content_type, octet_length(data), digest, model,
    reeve.micros(created_at), content_id, number, data
  FROM reeve.page_images WHERE content_id = $1 AND number = $2)"};

// Columns: content_type, bytes, digest, model, created_at, from `first` on.
image_info read_info(const pqxx::row& row, int first) {
  image_info result;
  result.content_type = row[first].as<std::string>();
  result.bytes = row[first + 1].as<size_t>();
  result.digest = row[first + 2].as<std::string>();
  result.model = row[first + 3].as<std::string>();
  result.created_at = read_time(row[first + 4]);
  return result;
}

content read_content(const pqxx::row& row) {
  content result;
  int i = 0;
  result.id = row[i++].as<std::string>();
  result.job_id = row[i++].as<std::string>();
  result.user_id = read_text(row[i++]);
  result.title = row[i++].as<std::string>();
  result.prompt = row[i++].as<std::string>();
  result.page_count = row[i++].as<int>();
  result.created_at = read_time(row[i++]);
  result.status = job_status_from(row[i++].view()).value_or(job_status::failed);
  result.progress_percent = row[i++].as<int>();
  result.progress_message = row[i++].as<std::string>();
  result.error_message = read_text(row[i++]);
  return result;
}

page read_page(const pqxx::row& row) {
  page result;
  result.number = row[0].as<int>();
  result.text = row[1].as<std::string>();
  if (!row[2].is_null())
    result.image = read_info(row, 2);
  return result;
}

page_image read_image(const pqxx::row& row) {
  page_image result;
  result.info = read_info(row, 0);
  result.content_id = row[5].as<std::string>();
  result.number = row[6].as<int>();
  const auto bytes = row[7].as<pqxx::bytes>();
  result.data = std::make_shared<const std::string>(
    reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return result;
}

// From the newest on. Two statements, however many books there are.
std::vector<content> find_books(postgres_session& session,
                                postgres_snapshot& tx,
                                const std::vector<std::string>& ids) {
  auto result =
    all_rows(session.run(tx, contents_sql, pqxx::params{ids}), read_content);
  if (result.empty())
    return result;
  std::map<std::string, content*, std::less<>> books;
  for (auto& x : result)
    books.emplace(x.id, &x);
  for (const auto& row : session.run(tx, pages_sql, pqxx::params{ids}))
    if (auto book = books.find(row[7].view()); book != books.end())
      if (auto next = read_if_possible(row, read_page))
        book->second->pages.push_back(*std::move(next));
  return result;
}

} // namespace

std::optional<content> postgres_store::find_content(const std::string& id) {
  if (!is_uuid(id))
    return std::nullopt;
  return session_.read([&](postgres_snapshot& tx) -> std::optional<content> {
    auto found = find_books(session_, tx, {id});
    if (found.empty())
      return std::nullopt;
    return std::move(found.front());
  });
}

std::vector<content> postgres_store::list_contents(
  const std::optional<std::string>& before_id, uint32_t limit) {
  const auto before = before_id.value_or(std::string{last_uuid});
  if (!is_uuid(before))
    return {};
  return session_.read([&](postgres_snapshot& tx) -> std::vector<content> {
    std::vector<std::string> ids;
    for (const auto& row : session_.run(tx, list_contents_sql,
                                        pqxx::params{before, int64_t{limit}}))
      ids.push_back(row[0].as<std::string>());
    return find_books(session_, tx, ids);
  });
}

std::optional<page_image> postgres_store::find_image(
  const std::string& content_id, int number) {
  if (!is_uuid(content_id))
    return std::nullopt;
  return session_.read([&](postgres_snapshot& tx) {
    return first_row(
      session_.run(tx, image_sql, pqxx::params{content_id, number}),
      read_image);
  });
}

} // namespace reeve
