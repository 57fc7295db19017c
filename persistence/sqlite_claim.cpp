// persistence/sqlite_claim.cpp -- how runs start and stay alive.
#include "persistence/sqlite_rows.hpp"
#include "persistence/sqlite_writer.hpp"
#include "persistence/store_rules.hpp"
#include "persistence/text.hpp"

#include <algorithm>

namespace reeve {

namespace {

// One look-up a priority: due jobs stand together within it, so that jobs
// which are due later cost a claim nothing, however many there are.
constexpr const char* first_priority_sql = "SELECT min(priority) FROM queue";
constexpr const char* next_priority_sql = R"(
  SELECT min(priority) FROM queue WHERE priority > ?)";
constexpr const char* due_sql = R"(
  SELECT seq FROM queue WHERE priority = ? AND run_at <= ?
  ORDER BY run_at, seq LIMIT ?)";

constexpr const char* first_due_sql = "SELECT min(run_at) FROM queue";
constexpr const char* next_due_sql = R"(
  SELECT min(run_at) FROM queue WHERE run_at > ?)";

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
  if (auto no = check(x.owner))
    return *std::move(no);
  claimed result;
  if (repeated)
    result.jobs = claimed_with(x);
  if (result.jobs.empty()) {
    for (auto seq : due_jobs(x.limit)) {
      start(seq, x);
      result.jobs.push_back(job_by_seq(db_, seq).value());
    }
  }
  const auto first = first_due();
  result.more = first && *first <= now_;
  sqlite_query query{db_.prepared(next_due_sql)};
  if (query.bind(now_).next() && !query.is_null(0))
    result.next_due_in = until(now_, query.time(0));
  return result;
}

std::optional<timestamp> sqlite_writer::first_due() {
  sqlite_query query{db_.prepared(first_due_sql)};
  query.next();
  return query.maybe_time(0);
}

std::vector<int64_t> sqlite_writer::due_jobs(uint32_t limit) {
  std::vector<int64_t> result;
  const auto first = first_due();
  if (limit == 0 || !first || *first > now_)
    return result;
  auto priority_of = [](sqlite_query& query) -> std::optional<int64_t> {
    if (!query.next() || query.is_null(0))
      return std::nullopt;
    return query.integer(0);
  };
  sqlite_query lowest{db_.prepared(first_priority_sql)};
  auto priority = priority_of(lowest);
  while (priority) {
    sqlite_query due{db_.prepared(due_sql)};
    due.bind(*priority, now_, limit - static_cast<uint32_t>(result.size()));
    while (due.next())
      result.push_back(due.integer(0));
    if (result.size() == limit)
      break;
    sqlite_query higher{db_.prepared(next_priority_sql)};
    priority = priority_of(higher.bind(*priority));
  }
  return result;
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
