// persistence/postgres_failures.cpp -- failures by what they have in common,
// and retries of many.
#include "persistence/fingerprint.hpp"
#include "persistence/postgres_rows.hpp"
#include "persistence/postgres_store.hpp"
#include "persistence/postgres_writer.hpp"
#include "persistence/store_rules.hpp"

#include <algorithm>

namespace reeve {

namespace {

// Fixed pieces only; values are parameters. Not prepared: the plan shall know
// the values.
struct failure_query {
  std::string where = " f.failed_at IS NOT NULL";
  pqxx::params params;

  explicit failure_query(const failure_filter& x) {
    add(" AND f.job_type = ", x.type);
    add(" AND f.error_message LIKE ", x.error_like);
    add(" AND f.fingerprint = ", x.fingerprint);
    if (x.from)
      add_time(" AND f.failed_at >= ", *x.from);
    if (x.to)
      add_time(" AND f.failed_at < ", *x.to);
  }

  template <class T>
  void add(const char* condition, const std::optional<T>& value) {
    if (value)
      where += condition + parameter(*value);
  }

  void add_time(const char* condition, timestamp value) {
    where += condition
      + ("reeve.instant("
         + parameter(
           micros(std::clamp(value, earliest_timestamp, latest_timestamp)))
         + ")");
  }

  template <class T>
  std::string parameter(const T& value) {
    params.append(value);
    return '$' + std::to_string(params.size());
  }
};

// The example is looked up apart: aggregates would carry all messages along.
std::string groups_sql(const std::string& where, const std::string& limit) {
  return "SELECT g.fingerprint, g.count, g.types, g.first_seen,"
         " g.last_seen, e.id, e.error_message FROM ("
         "SELECT f.fingerprint, count(*) AS count,"
         " array_agg(DISTINCT f.job_type) AS types,"
         " min(f.failed_at) AS first_seen, max(f.failed_at) AS last_seen"
         " FROM reeve.job f WHERE"
    + where
    + " AND f.fingerprint IS NOT NULL GROUP BY f.fingerprint"
      " ORDER BY max(f.failed_at) DESC, f.fingerprint LIMIT "
    + limit
    + ") g CROSS JOIN LATERAL ("
      "SELECT f.id, coalesce(f.error_message, '') AS error_message"
      " FROM reeve.job f WHERE"
    + where
    + " AND f.fingerprint = g.fingerprint"
      " ORDER BY f.failed_at DESC, f.seq DESC LIMIT 1) e"
      " ORDER BY g.last_seen DESC, g.fingerprint";
}

error_group read_group(const pqxx::row& row) {
  error_group result;
  result.fingerprint = row[0].as<std::string>();
  result.count = row[1].as<int64_t>();
  result.types = read_texts(row[2]);
  std::ranges::sort(result.types);
  result.first_seen = read_time(row[3]);
  result.last_seen = read_time(row[4]);
  result.example_job_id = row[5].as<std::string>();
  result.example_message = row[6].as<std::string>();
  result.pattern = error_pattern(result.example_message);
  return result;
}

constexpr postgres_statement now_sql{"failures_now", "SELECT now()"};

} // namespace

void postgres_writer::bulk_retry(const slot<bulk_retry_write>& x) {
  bulk_retried result;
  result.failed_until = x.what.failed_until
    ? *x.what.failed_until
    : read_time(run(now_sql).one_row()[0]);
  if (!can_match(x.what.filter) || x.what.limit == 0) {
    x.answer = std::move(result);
    return;
  }
  failure_query page{x.what.filter};
  page.add_time(" AND f.failed_at <= ", result.failed_until);
  page.add(" AND f.seq < ", x.what.before_seq);
  const auto limit = page.parameter(int64_t{x.what.limit});
  // Which index finds them depends on what is asked for.
  tx_.exec("SET LOCAL plan_cache_mode = auto");
  std::vector<int64_t> seqs;
  for (const auto& row :
       tx_.exec("SELECT f.seq FROM reeve.job f WHERE" + page.where
                  + " ORDER BY f.seq DESC LIMIT " + limit,
                page.params))
    seqs.push_back(row[0].as<int64_t>());
  result.matched = static_cast<uint32_t>(seqs.size());
  if (result.matched == x.what.limit)
    result.next_before_seq = seqs.back();
  const auto reopened = reopen(seqs);
  std::erase_if(seqs, [&](int64_t seq) {
    const auto i = reopened.find(seq);
    return i == reopened.end() || i->second;
  });
  result.jobs = jobs_by_seq(seqs);
  x.answer = std::move(result);
}

std::vector<error_group> postgres_store::error_groups(
  const failure_filter& filter, uint32_t limit) {
  if (!can_match(filter))
    return {};
  return session_.read([&](postgres_snapshot& tx) {
    failure_query query{filter};
    const auto most = query.parameter(int64_t{limit});
    return all_rows(tx.exec(groups_sql(query.where, most), query.params),
                    read_group);
  });
}

failure_preview postgres_store::preview_failures(const failure_filter& filter) {
  if (!can_match(filter))
    return {};
  return session_.read([&](postgres_snapshot& tx) {
    failure_query query{filter};
    failure_preview result;
    result.matched =
      tx.exec("SELECT count(*) FROM reeve.job f WHERE" + query.where,
              query.params)
        .one_row()[0]
        .as<int64_t>();
    const auto most = query.parameter(int64_t{preview_sample});
    result.sample =
      all_rows(tx.exec("SELECT" REEVE_POSTGRES_JOB_COLUMNS
                       "FROM reeve.jobs WHERE seq IN ("
                       "SELECT f.seq FROM reeve.job f WHERE"
                         + query.where + " ORDER BY f.seq DESC LIMIT " + most
                         + ") ORDER BY seq DESC",
                       query.params),
               read_job);
    return result;
  });
}

} // namespace reeve
