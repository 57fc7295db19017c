// persistence/postgres_enqueue.cpp -- how jobs come in.
#include "persistence/postgres_rows.hpp"
#include "persistence/postgres_writer.hpp"
#include "persistence/store_rules.hpp"

#include <algorithm>

namespace reeve {

namespace {

constexpr postgres_statement holders_sql{
  "holders", "SELECT" REEVE_POSTGRES_JOB_COLUMNS R"(,
    idempotency_key, idempotency_hash
  FROM reeve.jobs WHERE seq IN (
    SELECT seq FROM reeve.job WHERE id = ANY($1::uuid[])
    UNION SELECT seq FROM reeve.job WHERE idempotency_key = ANY($2::text[])
    UNION SELECT seq FROM reeve.job WHERE active_key = ANY($3::text[])))"};

constexpr postgres_statement insert_scraps_sql{"insert_scraps", R"(
  INSERT INTO reeve.scraps (id, content, title, url, user_id)
  SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[],
    $5::text[]))"};

constexpr postgres_statement insert_contents_sql{"insert_contents", R"(
  INSERT INTO reeve.contents (id, job_id, user_id, title, prompt, page_count)
  SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[],
    $5::text[], $6::int[]))"};

// How often a key may change hands between our insert and our look.
constexpr int max_rounds = 10;

using texts = std::vector<std::string>;
using maybe_texts = std::vector<std::optional<std::string>>;

struct holder {
  reeve::job job;
  std::optional<std::string> idempotency_key;
  std::optional<std::string> idempotency_hash;
};

std::optional<std::string> scrap_id_of(const enqueue_write& x) {
  if (x.new_scrap)
    return lower_case(x.new_scrap->id);
  return std::nullopt;
}

using enqueue_result = std::variant<std::monostate, refusal, enqueued>;

// Who stands in the way of `x`; nobody, when they are gone by now. The
// idempotency key goes before the unique key: a replay gets its own job.
enqueue_result answer_from(const std::vector<holder>& holders,
                           const enqueue_write& x, bool repeated) {
  const holder* same_id = nullptr;
  const holder* same_request = nullptr;
  const holder* same_key = nullptr;
  const auto id = lower_case(x.id);
  for (const auto& h : holders) {
    if (h.job.id == id)
      same_id = &h;
    if (x.idempotency_key && h.idempotency_key == x.idempotency_key)
      same_request = &h;
    if (x.unique_key && h.job.unique_key == x.unique_key
        && !is_final(h.job.status))
      same_key = &h;
  }
  if (same_id && repeated)
    return enqueued{same_id->job, enqueue_kind::created, scrap_id_of(x), {}};
  if (same_request) {
    if (same_request->idempotency_hash != x.idempotency_hash)
      return refusal{refusal_code::key_reused,
                     "the idempotency key was used with another request"};
    std::optional<std::string> scrap_id;
    if (x.new_scrap)
      scrap_id = same_request->job.target_id;
    return enqueued{same_request->job, enqueue_kind::replayed, scrap_id, {}};
  }
  if (same_key)
    return enqueued{same_key->job, enqueue_kind::deduplicated, {}, {}};
  if (same_id)
    return refusal{refusal_code::invalid_argument,
                   "another job has the id " + id};
  return std::monostate{};
}

} // namespace

bool postgres_writer::is_keyless(const enqueue_write& x) {
  return !x.unique_key && !x.idempotency_key && x.price == 0;
}

void postgres_writer::enqueue(
  const std::vector<slot<enqueue_write>>& singles,
  const std::vector<slot<enqueue_batch_write>>& batches) {
  std::vector<arrival> arrivals;
  for (const auto& x : singles)
    arrivals.push_back({x.what, x.repeated, is_keyless(x.what), {}, false});
  for (const auto& x : batches) {
    // The order within a batch stays.
    const auto keyless = std::ranges::all_of(x.what.jobs, is_keyless);
    for (const auto& what : x.what.jobs)
      arrivals.push_back({what, x.repeated, keyless, {}, false});
  }
  add(arrivals);
  auto next = arrivals.begin();
  for (const auto& x : singles) {
    auto& result = (next++)->result;
    if (auto* no = std::get_if<refusal>(&result))
      x.answer = std::move(*no);
    else
      x.answer = std::get<enqueued>(std::move(result));
  }
  for (const auto& x : batches) {
    enqueued_batch all;
    std::optional<refusal> none;
    for (size_t i = 0; i < x.what.jobs.size(); ++i) {
      auto& result = (next++)->result;
      if (auto* no = std::get_if<refusal>(&result)) {
        if (!none)
          none = refusal{no->code,
                         "jobs[" + std::to_string(i) + "]: " + no->message};
      } else {
        all.jobs.push_back(std::get<enqueued>(std::move(result)));
      }
    }
    if (none && !has_savepoint_)
      throw needs_savepoints{};
    if (none)
      x.answer = *std::move(none);
    else
      x.answer = std::move(all);
  }
}

void postgres_writer::add(std::vector<arrival>& arrivals) {
  std::vector<arrival*> free, priced;
  for (auto& x : arrivals) {
    if (auto no = check(x.what))
      x.result = *std::move(no);
    else
      (x.what.price > 0 ? priced : free).push_back(&x);
  }
  copy(free);
  place(std::move(free));
  place_priced(priced);
  insert_scraps(arrivals);
  insert_contents(arrivals);
}

// Takes those off `open` that were copied.
void postgres_writer::copy(std::vector<arrival*>& open) {
  if (way_ != arrivals_by::copy || has_savepoint_)
    return;
  std::vector<arrival*> copied;
  for (auto* x : open)
    if (x->keyless && !x->repeated)
      copied.push_back(x);
  if (copied.size() >= fewest_to_copy && copy_jobs(copied))
    std::erase_if(open, [](const arrival* x) { return !x->open(); });
}

void postgres_writer::place(std::vector<arrival*> open) {
  auto answered = [](const arrival* x) { return !x->open(); };
  for (int round = 0; round < max_rounds && !open.empty(); ++round) {
    insert_jobs(open);
    std::erase_if(open, answered);
    if (!open.empty())
      look_up(open);
    std::erase_if(open, answered);
  }
  for (auto* x : open)
    x->result = refusal{refusal_code::conflict,
                        "the unique key changes hands all the time"};
}

// Those that their users can pay go in; an arrival that turns out to be there
// already costs nothing, which may leave enough for another.
void postgres_writer::place_priced(const std::vector<arrival*>& priced) {
  if (priced.empty())
    return;
  std::set<std::string> users;
  for (const auto* x : priced)
    users.insert(*x->what.user_id);
  auto held = hold_accounts(users);
  auto open = priced;
  std::vector<int64_t> to_charge;
  for (bool placed = true; placed && !open.empty();) {
    std::vector<arrival*> affordable;
    auto left = held;
    std::erase_if(open, [&](arrival* x) {
      auto& balance = left[*x->what.user_id];
      if (balance < x->what.price)
        return false;
      balance -= x->what.price;
      affordable.push_back(x);
      return true;
    });
    place(affordable);
    for (const auto* x : affordable)
      if (x->inserted) {
        held[*x->what.user_id] -= x->what.price;
        to_charge.push_back(std::get<enqueued>(x->result).job.seq);
      }
    placed = !affordable.empty();
  }
  if (!open.empty())
    look_up(open);
  for (auto* x : open)
    if (x->open())
      x->result = too_expensive(held[*x->what.user_id], x->what.price);
  charge(to_charge);
  for (auto* x : priced)
    if (auto* ok = std::get_if<enqueued>(&x->result))
      ok->balance = held[*x->what.user_id];
}

void postgres_writer::place(arrival& x, int64_t seq, timestamp run_at,
                            timestamp created_at) {
  const auto& what = x.what;
  job result;
  result.seq = seq;
  result.id = lower_case(what.id);
  result.type = what.type;
  result.target_id = what.target_id;
  result.user_id = what.user_id;
  result.payload = what.payload;
  result.priority = what.priority;
  result.max_attempts = what.max_attempts;
  result.unique_key = what.unique_key;
  result.trace = what.trace;
  result.run_at = run_at;
  result.created_at = created_at;
  result.updated_at = created_at;
  x.result =
    enqueued{std::move(result), enqueue_kind::created, scrap_id_of(what), {}};
  x.inserted = true;
}

void postgres_writer::look_up(const std::vector<arrival*>& open) {
  texts ids;
  maybe_texts unique_keys, idempotency_keys;
  for (const auto* x : open) {
    ids.push_back(lower_case(x->what.id));
    unique_keys.push_back(x->what.unique_key);
    idempotency_keys.push_back(x->what.idempotency_key);
  }
  std::vector<holder> holders;
  for (const auto& row :
       run(holders_sql, pqxx::params{ids, idempotency_keys, unique_keys}))
    holders.push_back({read_job(row), read_text(row[postgres_job_columns]),
                       read_text(row[postgres_job_columns + 1])});
  for (auto* x : open)
    x->result = answer_from(holders, x->what, x->repeated);
}

void postgres_writer::insert_scraps(const std::vector<arrival>& arrivals) {
  texts ids, contents;
  maybe_texts titles, urls, users;
  for (const auto& x : arrivals) {
    if (!x.inserted || !x.what.new_scrap)
      continue;
    const auto& new_scrap = *x.what.new_scrap;
    ids.push_back(lower_case(new_scrap.id));
    contents.push_back(new_scrap.content);
    titles.push_back(new_scrap.title);
    urls.push_back(new_scrap.url);
    users.push_back(new_scrap.user_id);
  }
  if (!ids.empty())
    run(insert_scraps_sql, pqxx::params{ids, contents, titles, urls, users});
}

void postgres_writer::insert_contents(const std::vector<arrival>& arrivals) {
  texts ids, jobs, titles, prompts;
  maybe_texts users;
  std::vector<int> page_counts;
  for (const auto& x : arrivals) {
    if (!x.inserted || !x.what.new_content)
      continue;
    const auto& book = *x.what.new_content;
    ids.push_back(lower_case(book.id));
    jobs.push_back(lower_case(book.job_id));
    users.push_back(book.user_id);
    titles.push_back(book.title);
    prompts.push_back(book.prompt);
    page_counts.push_back(book.page_count);
  }
  if (!ids.empty())
    run(insert_contents_sql,
        pqxx::params{ids, jobs, users, titles, prompts, page_counts});
}

} // namespace reeve
