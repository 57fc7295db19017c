// persistence/sqlite_claim.cpp -- how runs start and stay alive.
#include "persistence/sqlite_queue.hpp"
#include "persistence/sqlite_rows.hpp"
#include "persistence/sqlite_writer.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/text.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace reeve {

namespace {

// Due jobs of a type and priority stand together: jobs that are due later, and
// those of other types, cost a claim nothing, however many there are. What a
// claim takes of them is always the beginning, which one statement reads, one
// notes as running, and one takes off the queue.
constexpr const char* due_keys_sql = R"(
  SELECT run_at, seq FROM queue
  WHERE job_type = ? AND priority = ? AND run_at <= ?
  ORDER BY run_at, seq LIMIT ?)";

// The columns of `read_job`, as they are once the job runs.
constexpr const char* due_jobs_sql = R"(
  SELECT j.seq, j.id, j.job_type, NULL, j.seq, j.target_id, j.user_id,
    j.payload, NULL, 0, '', j.error_message, q.attempts + 1, j.max_attempts,
    j.priority, j.unique_key, q.run_at, '', 0, q.throttled, q.provider_down,
    q.interrupted, q.version + 1, q.run + 1, j.created_at, ?1, NULL, ?1,
    j.input_tokens, j.output_tokens, j.images, j.traceparent, j.tracestate
  FROM queue q CROSS JOIN job j ON j.seq = q.seq
  WHERE q.job_type = ?2 AND q.priority = ?3 AND q.run_at <= ?1
  ORDER BY q.run_at, q.seq LIMIT ?4)";

// Two pieces: in one, SQLite would walk over all jobs that are due at the same
// instant as the last one, which may be a million that were put off together.
#define REEVE_BEFORE_LAST \
  " FROM queue INDEXED BY queue_claim" \
  " WHERE job_type = ?1 AND priority = ?2 AND run_at < ?3"
#define REEVE_WITH_LAST \
  " FROM queue INDEXED BY queue_claim" \
  " WHERE job_type = ?1 AND priority = ?2 AND run_at = ?3 AND seq <= ?4"
#define REEVE_START \
  "INSERT INTO running (seq, job_type, priority, run_at, run, attempts," \
  " throttled, provider_down, interrupted, version, lease_owner," \
  " lease_until, claim_token, started_at, updated_at)" \
  " SELECT seq, job_type, priority, run_at, run + 1, attempts + 1," \
  " throttled, provider_down, interrupted, version + 1, ?5, ?6, ?7, ?8, ?8"

constexpr const char* start_before_sql = REEVE_START REEVE_BEFORE_LAST;
constexpr const char* start_with_sql = REEVE_START REEVE_WITH_LAST;
constexpr const char* dequeue_before_sql = "DELETE" REEVE_BEFORE_LAST;
constexpr const char* dequeue_with_sql = "DELETE" REEVE_WITH_LAST;

constexpr const char* running_count_sql = R"(
  SELECT count(*) FROM running WHERE job_type = ?)";

constexpr const char* claimed_with_sql = R"(
  SELECT seq FROM running WHERE lease_owner = ? AND claim_token = ?
  ORDER BY priority, run_at, seq)";

constexpr const char* renew_sql = R"(
  UPDATE running SET lease_until = ? WHERE lease_owner = ?
  RETURNING seq, run, cancel_requested, claim_token)";

constexpr const char* progress_sql = R"(
  UPDATE running SET progress_percent = ?, progress_message = ?,
    version = version + 1, updated_at = ?
  WHERE seq = ? AND run = ?)";

} // namespace

write_answer sqlite_writer::on(const claim_write& x, bool repeated) {
  if (auto no = check(x))
    return *std::move(no);
  claimed result;
  if (repeated)
    result.jobs = claimed_with(x);
  auto lanes = lanes_of(x, result.paused);
  if (result.jobs.empty())
    result.jobs = take_due(x, lanes);
  look_ahead(lanes, result.jobs.size() >= x.limit, result);
  return result;
}

std::vector<sqlite_writer::lane> sqlite_writer::lanes_of(
  const claim_write& x, std::vector<std::string>& paused) {
  std::vector<lane> result;
  // Of a type that is listed twice, the larger limit of its own counts, and
  // the stricter one of all nodes.
  std::map<std::string, claimable_type> wanted;
  for (const auto& one : x.types) {
    auto [known, added] = wanted.try_emplace(one.type, one);
    if (added)
      continue;
    auto& [type, limit, across] = known->second;
    limit = std::max(limit, one.limit);
    if (across == 0 || (one.across > 0 && one.across < across))
      across = one.across;
  }
  for (const auto& [type, one] : wanted) {
    if (is_paused(db_, type)) {
      paused.push_back(type);
      continue;
    }
    auto priorities = waiting_priorities(db_, type);
    if (!priorities.empty())
      result.push_back({type, std::move(priorities), room_for(one)});
  }
  return result;
}

// What runs is little: counting it needs no index.
uint32_t sqlite_writer::room_for(const claimable_type& x) {
  if (x.across == 0)
    return x.limit;
  sqlite_query query{db_.prepared(running_count_sql)};
  query.bind(x.type).next();
  return std::min(x.limit, x.across - std::min(x.across, query.count(0)));
}

std::vector<job> sqlite_writer::take_due(const claim_write& x,
                                         std::vector<lane>& lanes) {
  std::set<int64_t> levels;
  for (const auto& one : lanes)
    levels.insert(one.priorities.begin(), one.priorities.end());
  std::vector<job> result;
  for (auto priority : levels) {
    if (result.size() >= x.limit)
      break;
    take_level(x, priority, lanes, result);
  }
  return result;
}

void sqlite_writer::take_level(const claim_write& x, int64_t priority,
                               std::vector<lane>& lanes,
                               std::vector<job>& out) {
  std::vector<lane*> waiting;
  for (auto& one : lanes)
    if (one.left > 0
        && std::binary_search(one.priorities.begin(), one.priorities.end(),
                              priority))
      waiting.push_back(&one);
  const auto before = static_cast<ptrdiff_t>(out.size());
  const auto counts =
    shares(waiting, priority, x.limit - static_cast<uint32_t>(out.size()));
  for (size_t i = 0; i < waiting.size(); ++i) {
    const auto had = out.size();
    start(x, waiting[i]->type, priority, counts[i], out);
    waiting[i]->left -= static_cast<uint32_t>(out.size() - had);
  }
  if (waiting.size() > 1)
    std::sort(out.begin() + before, out.end(), [](const job& a, const job& b) {
      return std::tie(a.run_at, a.seq) < std::tie(b.run_at, b.seq);
    });
}

std::vector<uint32_t> sqlite_writer::shares(const std::vector<lane*>& lanes,
                                            int64_t priority, uint32_t limit) {
  std::vector<uint32_t> result(lanes.size());
  if (lanes.size() == 1)
    result[0] = std::min(lanes[0]->left, limit);
  if (lanes.size() < 2)
    return result;
  std::vector<std::tuple<timestamp, int64_t, size_t>> keys;
  for (size_t i = 0; i < lanes.size(); ++i) {
    sqlite_query query{db_.prepared(due_keys_sql)};
    query.bind(lanes[i]->type, priority, now_, std::min(lanes[i]->left, limit));
    while (query.next())
      keys.emplace_back(query.time(0), query.integer(1), i);
  }
  std::sort(keys.begin(), keys.end());
  keys.resize(std::min(keys.size(), size_t{limit}));
  for (const auto& key : keys)
    ++result[std::get<2>(key)];
  return result;
}

void sqlite_writer::start(const claim_write& x, const std::string& type,
                          int64_t priority, uint32_t count,
                          std::vector<job>& out) {
  const auto before = out.size();
  if (count > 0) {
    sqlite_query query{db_.prepared(due_jobs_sql)};
    query.bind(now_, type, priority, count);
    while (query.next())
      out.push_back(read_job(query));
  }
  if (out.size() == before)
    return;
  const auto& last = out.back();
  const auto owner = x.owner.str();
  auto move = [&](const char* insert, const char* remove) {
    {
      sqlite_query query{db_.prepared(insert)};
      query.bind(type, priority, last.run_at, last.seq, owner,
                 later(now_, x.lease), x.token, now_);
      query.run();
    }
    sqlite_query query{db_.prepared(remove)};
    query.bind(type, priority, last.run_at);
    if (remove == dequeue_with_sql)
      query.bind(last.seq);
    query.run();
  };
  if (out[before].run_at < last.run_at)
    move(start_before_sql, dequeue_before_sql);
  move(start_with_sql, dequeue_with_sql);
}

// What is left for other claims: at once, of types whose own limit leaves
// room, and later. Who may ask again at once is not told of later.
void sqlite_writer::look_ahead(const std::vector<lane>& lanes, bool full,
                               claimed& result) {
  for (const auto& x : lanes)
    for (auto priority : x.priorities) {
      // What a claim with room left did not take it was not to take.
      if (result.more || !full)
        break;
      const auto first = first_due(db_, x.type, priority);
      result.more = first && *first <= now_;
    }
  if (result.more)
    return;
  std::optional<timestamp> next;
  for (const auto& x : lanes)
    for (auto priority : x.priorities)
      if (const auto later = first_due(db_, x.type, priority, now_))
        next = std::min(*later, next.value_or(*later));
  if (next)
    result.next_due_in = until(now_, *next);
}

std::vector<job> sqlite_writer::claimed_with(const claim_write& x) {
  std::vector<job> result;
  sqlite_query query{db_.prepared(claimed_with_sql)};
  query.bind(x.owner.str(), x.token);
  while (query.next())
    result.push_back(job_by_seq(db_, query.integer(0)).value());
  return result;
}

write_answer sqlite_writer::on(const heartbeat_write& x, bool) {
  if (auto no = check(x.owner))
    return *std::move(no);
  renewed result;
  sqlite_query query{db_.prepared(renew_sql)};
  query.bind(later(now_, x.lease), x.owner.str());
  while (query.next())
    result.leases.push_back({query.integer(0), query.integer(1),
                             query.integer(2) != 0, query.integer(3)});
  std::sort(result.leases.begin(), result.leases.end(),
            [](const auto& a, const auto& b) { return a.seq < b.seq; });
  return result;
}

write_answer sqlite_writer::on(const progress_write& x, bool) {
  {
    sqlite_query query{db_.prepared(progress_sql)};
    query.bind(std::clamp(x.percent, 0, 100), storable_error(x.message), now_,
               x.seq, x.run);
    if (query.run() == 0)
      return lease_is_lost(x.seq, x.run);
  }
  return changed_job(x.seq);
}

} // namespace reeve
