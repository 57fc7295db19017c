// persistence/sqlite_failures.cpp -- FAILED jobs: groups, previews and bulk
// retries.
#include "persistence/fingerprint.hpp"
#include "persistence/sqlite_rows.hpp"
#include "persistence/sqlite_store.hpp"
#include "persistence/sqlite_writer.hpp"
#include "persistence/store_rules.hpp"

#include <limits>

namespace reeve {

namespace {

// Above every job's.
constexpr auto newest_seq = std::numeric_limits<int64_t>::max();

// The conditions are fixed pieces; values are bound in this order.
std::string conditions_of(const failure_filter& x) {
  std::string result = " j.outcome = 'FAILED'";
  if (x.type)
    result += " AND j.job_type = ?";
  if (x.error_like)
    result += R"( AND j.error_message LIKE ? ESCAPE '\')";
  if (x.fingerprint)
    result += " AND j.fingerprint = ?";
  if (x.from)
    result += " AND j.finished_at >= ?";
  if (x.to)
    result += " AND j.finished_at < ?";
  return result;
}

// Left to itself the planner walks all jobs down from the newest, or all of a
// type, until enough of them turn out to be failures.
std::string failed_jobs(const failure_filter& x) {
  return x.fingerprint ? "FROM job j INDEXED BY job_by_fingerprint "
                       : "FROM job j INDEXED BY job_failed_seq ";
}

template <class T>
void bind_if(sqlite_query& query, const std::optional<T>& value) {
  if (value)
    query.bind(*value);
}

void bind_conditions(sqlite_query& query, const failure_filter& x) {
  bind_if(query, x.type);
  bind_if(query, x.error_like);
  bind_if(query, x.fingerprint);
  bind_if(query, x.from);
  bind_if(query, x.to);
}

// A statement that is made for one filter.
class failure_query {
public:
  failure_query(sqlite_connection& db, const std::string& select,
                const failure_filter& filter, const std::string& rest)
    : statement_(db.database(), select + conditions_of(filter) + rest),
      query_(statement_) {
    bind_conditions(query_, filter);
  }

  sqlite_query& operator*() {
    return query_;
  }
  sqlite_query* operator->() {
    return &query_;
  }

private:
  sqlite_statement statement_;
  sqlite_query query_;
};

std::vector<std::string> types_of(sqlite_connection& db,
                                  const failure_filter& filter) {
  std::vector<std::string> result;
  failure_query query{db, "SELECT DISTINCT j.job_type FROM job j WHERE", filter,
                      " ORDER BY 1"};
  while (query->next())
    result.push_back(query->text(0));
  return result;
}

// What only the newest job of a group tells.
void add_example(sqlite_connection& db, const failure_filter& filter,
                 error_group& group) {
  failure_query query{db, "SELECT j.id, j.error_message FROM job j WHERE",
                      filter,
                      " ORDER BY j.finished_at DESC, j.seq DESC"
                      " LIMIT 1"};
  if (!query->next())
    return;
  group.example_job_id = query->text(0);
  group.example_message = query->maybe_text(1).value_or("");
  group.pattern = error_pattern(group.example_message);
}

std::vector<error_group> groups(sqlite_connection& db, failure_filter filter,
                                uint32_t limit) {
  std::vector<error_group> result;
  {
    failure_query query{db,
                        "SELECT j.fingerprint, count(*), min(j.finished_at),"
                        " max(j.finished_at) FROM job j WHERE",
                        filter,
                        " GROUP BY j.fingerprint"
                        " ORDER BY 4 DESC, 1 LIMIT ?"};
    query->bind(limit);
    while (query->next()) {
      error_group group;
      group.fingerprint = query->text(0);
      group.count = query->integer(1);
      group.first_seen = query->time(2);
      group.last_seen = query->time(3);
      result.push_back(std::move(group));
    }
  }
  for (auto& group : result) {
    filter.fingerprint = group.fingerprint;
    group.types = types_of(db, filter);
    add_example(db, filter, group);
  }
  return result;
}

} // namespace

std::vector<error_group> sqlite_store::error_groups(
  const failure_filter& filter, uint32_t limit) {
  if (!can_match(filter))
    return {};
  return translated([&] {
    auto& db = connection();
    // One snapshot of all groups and their examples.
    sqlite_transaction snapshot{db, "BEGIN"};
    return groups(db, filter, limit);
  });
}

failure_preview sqlite_store::preview_failures(const failure_filter& filter) {
  failure_preview result;
  if (!can_match(filter))
    return result;
  translated([&] {
    auto& db = connection();
    sqlite_transaction snapshot{db, "BEGIN"};
    {
      failure_query query{
        db, "SELECT count(*) " + failed_jobs(filter) + "WHERE", filter, ""};
      query->next();
      result.matched = query->integer(0);
    }
    failure_query query{db,
                        "SELECT" REEVE_SQLITE_JOB_COLUMNS + failed_jobs(filter)
                          + "LEFT JOIN queue q ON 0 LEFT JOIN running r ON 0"
                            " WHERE",
                        filter, " ORDER BY j.seq DESC LIMIT ?"};
    query->bind(preview_sample);
    while (query->next())
      result.sample.push_back(read_job(*query));
  });
  return result;
}

write_answer sqlite_writer::on(const bulk_retry_write& x, bool) {
  bulk_retried result;
  result.failed_until = x.failed_until.value_or(now_);
  if (!can_match(x.filter) || x.limit == 0)
    return result;
  struct failure {
    int64_t seq = 0;
    std::optional<std::string> unique_key;
    std::string type;
  };
  std::vector<failure> page;
  {
    failure_query query{db_,
                        "SELECT j.seq, j.unique_key, j.job_type "
                          + failed_jobs(x.filter) + "WHERE",
                        x.filter,
                        " AND j.finished_at <= ? AND j.seq < ?"
                        " ORDER BY j.seq DESC LIMIT ?"};
    query->bind(result.failed_until, x.before_seq.value_or(newest_seq),
                int64_t{x.limit} + 1);
    while (query->next())
      page.push_back({query->integer(0), query->maybe_text(1), query->text(2)});
  }
  if (page.size() > x.limit) {
    page.resize(x.limit);
    result.next_before_seq = page.back().seq;
  }
  result.matched = static_cast<uint32_t>(page.size());
  for (const auto& [seq, unique_key, type] : page) {
    if (key_is_taken(unique_key) || charge_again(seq))
      continue;
    reopen(seq, type, job_status::failed);
    result.jobs.push_back(job_by_seq(db_, seq).value());
  }
  return result;
}

} // namespace reeve
