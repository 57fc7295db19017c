// persistence/sqlite_claim.cpp -- how runs start and stay alive.
#include "persistence/sqlite_queue.hpp"
#include "persistence/sqlite_rows.hpp"
#include "persistence/sqlite_writer.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/text.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace reeve {

namespace {

// Due jobs of a type and priority stand together: jobs that are due later, and
// those of other types, cost a claim nothing, however many there are.
constexpr const char* due_sql = R"(
  SELECT run_at, seq FROM queue
  WHERE job_type = ? AND priority = ? AND run_at <= ?
  ORDER BY run_at, seq LIMIT ?)";

constexpr const char* first_due_sql = R"(
  SELECT min(run_at) FROM queue WHERE job_type = ? AND priority = ?)";
constexpr const char* next_due_sql = R"(
  SELECT min(run_at) FROM queue
  WHERE job_type = ? AND priority = ? AND run_at > ?)";

constexpr const char* start_sql = R"(
  INSERT INTO running (seq, job_type, priority, run_at, run, attempts,
    throttled, provider_down, interrupted, version, lease_owner, lease_until,
    claim_token, started_at, updated_at)
  SELECT seq, job_type, priority, run_at, run + 1, attempts + 1, throttled,
    provider_down, interrupted, version + 1, ?, ?, ?, ?, ?
  FROM queue WHERE seq = ?)";
constexpr const char* dequeue_sql = "DELETE FROM queue WHERE seq = ?";

constexpr const char* claimed_with_sql = R"(
  SELECT seq FROM running WHERE lease_owner = ? AND claim_token = ?
  ORDER BY priority, run_at, seq)";

constexpr const char* renew_sql = R"(
  UPDATE running SET lease_until = ? WHERE lease_owner = ?
  RETURNING seq, run, cancel_requested)";

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
  auto lanes = lanes_of(x);
  if (result.jobs.empty())
    result.jobs = take_due(x, lanes);
  look_ahead(lanes, result);
  return result;
}

std::vector<sqlite_writer::lane> sqlite_writer::lanes_of(const claim_write& x) {
  std::vector<lane> result;
  std::map<std::string, uint32_t> wanted;
  for (const auto& [type, limit] : x.types)
    wanted[type] = std::max(wanted[type], limit);
  for (const auto& [type, limit] : wanted) {
    if (is_paused(db_, type))
      continue;
    auto priorities = waiting_priorities(db_, type);
    if (!priorities.empty())
      result.push_back({type, std::move(priorities), limit});
  }
  return result;
}

std::vector<job> sqlite_writer::take_due(const claim_write& x,
                                         std::vector<lane>& lanes) {
  std::vector<due_job> due;
  for (size_t i = 0; i < lanes.size(); ++i)
    for (auto& found : due_jobs(lanes[i], x.limit)) {
      found.lane = i;
      due.push_back(found);
    }
  std::sort(due.begin(), due.end(), [](const due_job& a, const due_job& b) {
    return std::tie(a.priority, a.run_at, a.seq)
      < std::tie(b.priority, b.run_at, b.seq);
  });
  due.resize(std::min(due.size(), size_t{x.limit}));
  std::vector<job> result;
  for (const auto& next : due) {
    start(next.seq, x);
    --lanes[next.lane].left;
    result.push_back(job_by_seq(db_, next.seq).value());
  }
  return result;
}

// The first due jobs of a type: no claim takes more of it.
std::vector<sqlite_writer::due_job> sqlite_writer::due_jobs(const lane& x,
                                                            uint32_t limit) {
  std::vector<due_job> result;
  const size_t most = std::min(x.left, limit);
  for (auto priority : x.priorities) {
    if (result.size() == most)
      break;
    sqlite_query query{db_.prepared(due_sql)};
    query.bind(x.type, priority, now_,
               static_cast<int64_t>(most - result.size()));
    while (query.next())
      result.push_back({priority, query.time(0), query.integer(1), 0});
  }
  return result;
}

std::optional<timestamp> sqlite_writer::first_due(const std::string& type,
                                                  int64_t priority,
                                                  bool later) {
  sqlite_query query{db_.prepared(later ? next_due_sql : first_due_sql)};
  query.bind(type, priority);
  if (later)
    query.bind(now_);
  query.next();
  return query.maybe_time(0);
}

// What is left for other claims: at once, of types whose own limit leaves
// room, and later.
void sqlite_writer::look_ahead(const std::vector<lane>& lanes,
                               claimed& result) {
  std::optional<timestamp> next;
  for (const auto& x : lanes) {
    for (auto priority : x.priorities) {
      if (!result.more && x.left > 0) {
        const auto first = first_due(x.type, priority, false);
        result.more = first && *first <= now_;
      }
      if (const auto later = first_due(x.type, priority, true))
        next = std::min(*later, next.value_or(*later));
    }
  }
  if (next)
    result.next_due_in = until(now_, *next);
}

void sqlite_writer::start(int64_t seq, const claim_write& x) {
  {
    sqlite_query query{db_.prepared(start_sql)};
    query.bind(x.owner.str(), later(now_, x.lease), x.token, now_, now_, seq);
    query.run();
  }
  sqlite_query query{db_.prepared(dequeue_sql)};
  query.bind(seq).run();
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
    result.leases.push_back(
      {query.integer(0), query.integer(1), query.integer(2) != 0});
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
