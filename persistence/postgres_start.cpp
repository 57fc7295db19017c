// persistence/postgres_start.cpp -- new jobs that start in the statement that
// adds them.
#include "persistence/postgres_completions.hpp"
#include "persistence/postgres_fragments.hpp"
#include "persistence/postgres_queue.hpp"
#include "persistence/postgres_rows.hpp"
#include "persistence/postgres_writer.hpp"
#include "persistence/store_rules.hpp"

#include <algorithm>

namespace reeve {

namespace {

// Nobody passes by jobs that are due: while there are any, new ones wait like
// all others, and a claim decides. (The statement does not see its own rows.)
#define REEVE_STARTING_JOBS \
  REEVE_NEW_JOB \
  ", wanted AS MATERIALIZED (" \
  "   SELECT DISTINCT t.job_type FROM unnest($15::text[]) AS t(job_type)" \
  "   WHERE NOT EXISTS (SELECT FROM reeve.types p" \
  "                     WHERE p.job_type = t.job_type AND p.paused))," \
  " queued AS MATERIALIZED (" \
  "   SELECT coalesce(bool_or(x.due), false) AS is_due, min(x.next) AS next" \
  "   FROM" REEVE_DUE_OF_WANTED "x)," \
  " starting AS MATERIALIZED (" \
  "   SELECT n.* FROM new_job n JOIN wanted w ON w.job_type = n.job_type" \
  "   WHERE NOT (SELECT is_due FROM queued))," \
  " waiting AS (" \
  "   INSERT INTO reeve.queue (seq, job_type, priority, run_at)" \
  "   SELECT seq, job_type, priority, run_at FROM new_job" \
  "   WHERE seq NOT IN (SELECT seq FROM starting))," \
  " started AS (" \
  "   INSERT INTO reeve.running (seq, job_type, priority, run_at, run," \
  "     attempts, throttled, provider_down, interrupted, version," \
  "     lease_owner, lease_until, claim_token)" \
  "   SELECT seq, job_type, priority, run_at, 1, 1, 0, 0, 0, 2, $16," \
  "     now() + $17::bigint * interval '1 millisecond', $18" \
  "   FROM starting)"

#define REEVE_STARTING_ROW \
  " SELECT n.seq, n.id, n.run_at, n.created_at," \
  " n.seq IN (SELECT seq FROM starting), q.is_due, now()," \
  " q.next," REEVE_PAUSED_OF("$15")

// How many columns those are.
constexpr int starting_columns = 9;

// In the first rows, those of jobs, the columns of ends are NULL; in the others
// it is the other way around.
constexpr postgres_statement start_and_complete_sql{
  "start_and_complete",
  "WITH" REEVE_STARTING_JOBS "," REEVE_ENDED_RUNS(
    "$19", "$20",
    "$21") ","
           " completed AS (" REEVE_COMPLETE_ENDED ")" REEVE_STARTING_ROW
           R"(, NULL::bigint, NULL::bigint, NULL::bigint, NULL::timestamptz,
    NULL::bigint, NULL::bigint, NULL::bigint
  FROM new_job n CROSS JOIN queued q
  UNION ALL
  SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, seq, run,
    version, finished_at, input_tokens, output_tokens, images
  FROM completed)"};

} // namespace

const postgres_statement start_jobs_statement{
  "start_jobs",
  "WITH" REEVE_STARTING_JOBS REEVE_STARTING_ROW
  "FROM new_job n CROSS JOIN queued q"};

// -- whether ------------------------------------------------------------------

// The statement looks at the queue once, when it begins. So everything that
// takes another look is left to a claim of its own: keys and balances that
// others may hold, limits over all nodes, and runs that this batch puts back.
std::optional<postgres_writer::starter> postgres_writer::starter_of(
  std::span<const postgres_item> items) {
  std::optional<starter> result;
  std::map<std::string_view, uint32_t> arrived;
  uint32_t count = 0;
  for (const auto& item : items) {
    const auto& what = item.entry->what;
    if (const auto* one = std::get_if<enqueue_write>(&what)) {
      if (one->run_at || !is_keyless(*one))
        return std::nullopt;
      ++count;
      ++arrived[one->type];
    } else if (const auto* claim = std::get_if<claim_write>(&what)) {
      if (result || item.entry->repeated || check(*claim))
        return std::nullopt;
      result = starter{claim, item.answer};
    } else if (const auto* end = std::get_if<settle_write>(&what)) {
      if (puts_back(end->decision))
        return std::nullopt;
    } else if (!std::holds_alternative<progress_write>(what)
               && !std::holds_alternative<step_write>(what)
               && !std::holds_alternative<heartbeat_write>(what)) {
      return std::nullopt;
    }
  }
  if (!result || count > result->what->limit)
    return std::nullopt;
  auto may_start = false;
  for (const auto& wanted : result->what->types)
    if (const auto i = arrived.find(wanted.type); i != arrived.end()) {
      if (wanted.across > 0 || i->second > wanted.limit)
        return std::nullopt;
      may_start = true;
    }
  return may_start ? result : std::nullopt;
}

bool postgres_writer::can_add_at_once(std::span<const postgres_item> items) {
  const auto found = starter_of(items);
  // Jobs that wait for a limit over all nodes may be due all the time: looking
  // again would then be a second transaction for each job.
  if (found
      && std::ranges::any_of(found->what->types, [](const claimable_type& x) {
           return x.across > 0;
         }))
    return false;
  size_t jobs = 0;
  std::set<run_key> ended;
  for (const auto& item : items) {
    const auto& what = item.entry->what;
    if (item.entry->repeated)
      return false;
    if (const auto* one = std::get_if<enqueue_write>(&what)) {
      if (++jobs == fewest_to_copy || !is_keyless(*one) || one->new_scrap
          || one->new_content || check(*one))
        return false;
    } else if (!found) {
      return false;
    } else if (const auto* end = std::get_if<settle_write>(&what)) {
      if (!is_plain(*end) || check(*end)
          || !ended.insert(key_of(*end->claimed)).second)
        return false;
    } else if (!std::holds_alternative<claim_write>(what)) {
      return false;
    }
  }
  return true;
}

// -- how ----------------------------------------------------------------------

std::vector<size_t> postgres_writer::add_at_once(
  std::span<const postgres_item> items) {
  starter_ = starter_of(items);
  const auto ends = pick<settle_write>(items);
  std::vector<const slot<settle_write>*> ending;
  for (const auto& x : ends)
    ending.push_back(&x);
  completions completing{std::move(ending)};
  if (!completing.empty())
    completing_ = &completing;
  const auto added = pick<enqueue_write>(items);
  std::vector<arrival> arrivals;
  for (const auto& x : added)
    arrivals.push_back({x.what, false, true, {}, false});
  std::vector<arrival*> coming;
  for (auto& x : arrivals)
    coming.push_back(&x);
  insert_jobs(coming);
  completing_ = nullptr;
  settle_again(completing.unanswered());
  std::set<const write_answer*> open;
  if (starter_ && !starter_->is_answered)
    open.insert(starter_->answer);
  for (size_t i = 0; i < added.size(); ++i)
    if (arrivals[i].open())
      open.insert(&added[i].answer);
    else
      added[i].answer = std::get<enqueued>(std::move(arrivals[i].result));
  std::vector<size_t> result;
  for (size_t i = 0; i < items.size(); ++i)
    if (open.contains(items[i].answer))
      result.push_back(i);
  return result;
}

pqxx::result postgres_writer::run_starting(pqxx::params&& values) {
  const auto& claim = *starter_->what;
  std::vector<std::string> wanted;
  for (const auto& x : claim.types)
    if (x.limit > 0)
      wanted.push_back(x.type);
  values.append(wanted);
  values.append(claim.owner.str());
  values.append(bounded(claim.lease));
  values.append(claim.token);
  if (completing_ == nullptr)
    return run(start_jobs_statement, values);
  completing_->add_to(values);
  auto rows = run(start_and_complete_sql, values);
  for (const auto& row : rows)
    if (!row[starting_columns].is_null())
      completing_->answer(postgres_columns{row, starting_columns});
  return rows;
}

// What a claim would have answered. While others are due it has to.
void postgres_writer::answer_starter(const pqxx::row& first,
                                     const std::vector<const job*>& begun) {
  if (first[5].as<bool>())
    return;
  claimed result;
  for (const auto* x : begun) {
    auto run = *x;
    run.status = job_status::processing;
    run.run = 1;
    run.attempts = 1;
    run.version = 2;
    // All of it happens at one instant.
    run.started_at = run.created_at;
    result.jobs.push_back(std::move(run));
  }
  // Nothing else is due, hence `more` stays false.
  std::ranges::sort(result.jobs, is_claimed_before);
  if (!first[7].is_null())
    result.next_due_in = until(read_time(first[6]), read_time(first[7]));
  if (!first[8].is_null())
    result.paused = read_texts(first[8]);
  *starter_->answer = std::move(result);
  starter_->is_answered = true;
}

} // namespace reeve
