// tests/integration/persistence/sqlite_hot.test.cpp -- what a job costs the
// SQLite store, and that the short ways give the answers of the long ones.
#define CAF_SUITE persistence.sqlite_hot

#include "answers.hpp"
#include "sqlite_backend.hpp"

#include "persistence/uuid.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <sqlite3.h>

#include <algorithm>
#include <set>
#include <vector>

using namespace reeve;
using namespace std::literals;

namespace {

struct fixture : sqlite_backend {
  sqlite_store store{file};
  lease_owner me{"a", 1};
  lease_owner other{"b", 1};
  int64_t token = 0;

  static enqueue_write new_job(std::string type = "TEST",
                               std::string target = "target") {
    enqueue_write result;
    result.id = make_uuid();
    result.type = std::move(type);
    result.target_id = std::move(target);
    return result;
  }

  template <class T>
  T get(reeve::write what) {
    auto answers = store.apply({{std::move(what)}});
    auto result = answer_as<T>(std::move(answers.front()));
    REQUIRE(result.has_value());
    return *std::move(result);
  }

  job add(const enqueue_write& x = new_job()) {
    return get<enqueued>(x).job;
  }

  claimed claim(std::vector<claimable_type> types, uint32_t limit = 100,
                std::optional<lease_owner> owner = {}) {
    return get<claimed>(
      claim_write{owner.value_or(me), std::move(types), limit, 30s, ++token});
  }

  job start() {
    auto got = claim({{"TEST", 1}}, 1).jobs;
    REQUIRE_EQ(got.size(), 1u);
    return got.front();
  }

  settle_write ending(const job& x, verdict decision = verdict::complete) {
    settle_write result;
    result.claimed = std::make_shared<const job>(x);
    result.owner = me;
    result.outcome = decision == verdict::complete ? run_outcome::completed
                                                   : run_outcome::failed;
    result.decision = decision;
    if (decision != verdict::complete)
      result.error = "an error";
    return result;
  }

  int64_t finished(const std::string& outcome) {
    int64_t result = 0;
    for (const auto& x : store.stats().counts)
      if (to_string(x.status) == outcome)
        result += x.count;
    CHECK_EQ(
      result,
      number("SELECT count(*) FROM job WHERE outcome = '" + outcome + "'"));
    return result;
  }

  // Runs `f`; the different statements that it made the store run.
  template <class F>
  std::set<std::string> statements_of(F f) {
    std::set<std::string> result;
    auto* db = store.connection().database().getHandle();
    auto note = [](unsigned, void* context, void* statement, void*) {
      static_cast<std::set<std::string>*>(context)->emplace(
        sqlite3_sql(static_cast<sqlite3_stmt*>(statement)));
      return 0;
    };
    sqlite3_trace_v2(db, SQLITE_TRACE_STMT, note, &result);
    f();
    sqlite3_trace_v2(db, 0, nullptr, nullptr);
    return result;
  }

  std::vector<std::string> plan_of(const std::string& sql) {
    std::vector<std::string> result;
    SQLite::Database db{file, SQLite::OPEN_READWRITE, 5'000};
    SQLite::Statement plan{db, "EXPLAIN QUERY PLAN " + sql};
    while (plan.executeStep())
      result.push_back(plan.getColumn(3).getString());
    return result;
  }

  // How often SQLite's machine makes ten steps while `f` runs.
  template <class F>
  int steps_of(F f) {
    static int count = 0;
    count = 0;
    auto* db = store.connection().database().getHandle();
    auto counting = [](void*) { return ++count, 0; };
    sqlite3_progress_handler(db, 10, counting, nullptr);
    f();
    sqlite3_progress_handler(db, 0, nullptr, nullptr);
    return count;
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

// -- plans --------------------------------------------------------------------

SCENARIO("no statement of a job's life walks over all jobs") {
  const auto statements = statements_of([&] {
    auto keyed = new_job();
    keyed.unique_key = keyed.idempotency_key = "key";
    add(keyed);
    add(new_job("OTHER"));
    auto late = new_job();
    late.run_at = system_time() + 1h;
    add(late);
    auto got = claim({{"TEST", 9, 9}, {"OTHER", 9}}).jobs;
    REQUIRE_EQ(got.size(), 2u);
    get<renewed>(heartbeat_write{me});
    get<changed>(ending(got[0]));
    get<changed>(progress_write{got[1].seq, got[1].run, 5, "some"});
    get<changed>(ending(got[1], verdict::fail));
    get<changed>(retry_write{got[1].id});
    get<rescued>(rescue_write{other});
    get<changed>(cancel_write{got[1].id});
    job_filter filter;
    filter.target_id = "target";
    CHECK_EQ(store.list_jobs(filter).size(), 3u);
  });
  CHECK_GT(statements.size(), 20u);
  for (const auto& sql : statements)
    for (const auto& step : plan_of(sql))
      for (auto table : {"SCAN job", "SCAN queue", "SCAN j", "SCAN q"})
        if (step == table || step.starts_with(table + " "s))
          FAIL(step << " in " << sql);
}

SCENARIO("a claim costs nothing for the jobs that wait behind it") {
  const auto due = system_time() - 1h;
  const auto fill = [&](int jobs) {
    enqueue_batch_write batch;
    for (int i = 0; i < jobs; ++i) {
      batch.jobs.push_back(new_job());
      batch.jobs.back().run_at = due;
    }
    get<enqueued_batch>(batch);
  };
  const auto claiming = [&] {
    return steps_of([&] { CHECK_EQ(claim({{"TEST", 9}}, 9).jobs.size(), 9u); });
  };
  fill(20);
  const auto before = claiming();
  fill(6'000);
  CHECK_LT(claiming(), before + 20);
}

SCENARIO("a batch of jobs copies no page for the case that it fails") {
  enqueue_batch_write batch;
  batch.jobs.push_back(new_job());
  batch.jobs.push_back(new_job());
  for (const auto& sql : statements_of([&] { get<enqueued_batch>(batch); }))
    CHECK_EQ(sql.find("SAVEPOINT"), std::string::npos);
}

// -- short ways ---------------------------------------------------------------

SCENARIO("a batch with a member that is refused is undone, and only it") {
  auto keyed = new_job();
  keyed.idempotency_key = "key";
  keyed.idempotency_hash = "one";
  add(keyed);
  const auto running = start();
  keyed.id = make_uuid();
  keyed.idempotency_hash = "two";
  auto answers = store.apply({{enqueue_batch_write{{new_job(), keyed}}},
                              {new_job()},
                              {ending(running)}});
  REQUIRE(std::holds_alternative<refusal>(answers[0]));
  CHECK(std::get<refusal>(answers[0]).code == refusal_code::key_reused);
  CHECK(std::get<refusal>(answers[0]).message.starts_with("jobs[1]: "));
  CHECK(std::holds_alternative<enqueued>(answers[1]));
  CHECK(std::holds_alternative<completed>(answers[2]));
  CHECK_EQ(number("SELECT count(*) FROM job"), 2);
  CHECK_EQ(finished("COMPLETED"), 1);
}

SCENARIO("finished jobs are counted, whichever way they ended") {
  std::vector<job> failed;
  for (auto decision : {verdict::complete, verdict::fail, verdict::fail,
                        verdict::fail, verdict::cancel}) {
    add();
    auto x = get<changed>(ending(start(), decision)).job;
    if (decision == verdict::fail)
      failed.push_back(x);
  }
  get<changed>(cancel_write{add().id});
  CHECK_EQ(finished("COMPLETED"), 1);
  CHECK_EQ(finished("FAILED"), 3);
  CHECK_EQ(finished("CANCELLED"), 2);
  get<changed>(retry_write{failed[0].id});
  CHECK_EQ(finished("FAILED"), 2);
  CHECK_EQ(get<bulk_retried>(bulk_retry_write{{}, {}, {}, 9}).jobs.size(), 2u);
  CHECK_EQ(finished("FAILED"), 0);
  store.connection().exec("DELETE FROM job WHERE outcome IS NOT NULL");
  CHECK_EQ(finished("COMPLETED"), 0);
  CHECK_EQ(finished("CANCELLED"), 0);
}

SCENARIO("an end that is refused in the middle counts for nothing") {
  add();
  const auto first = start();
  add();
  const auto second = start();
  store.connection().database().exec(
    "CREATE TEMP TRIGGER no BEFORE UPDATE ON job WHEN "
    "NEW.seq = "
    + std::to_string(first.seq) + " BEGIN SELECT raise(ABORT, 'no'); END");
  auto answers = store.apply({{ending(second)}, {ending(first)}});
  CHECK(std::holds_alternative<completed>(answers[0]));
  CHECK(std::holds_alternative<refusal>(answers[1]));
  CHECK_EQ(finished("COMPLETED"), 1);
  CHECK(store.find_job(first.id)->status == job_status::processing);
}

SCENARIO("a completed job is what is stored, whatever happened to its run") {
  for (auto progress : {false, true}) {
    auto x = new_job();
    x.payload = {{"n", 1}};
    x.user_id = "user";
    add(x);
    const auto running = start();
    if (progress)
      get<changed>(progress_write{running.seq, running.run, 5, "some"});
    auto wanted = ending(running);
    wanted.result = {{"answer", 42}};
    const auto ended = get<changed>(wanted).job;
    const auto stored = store.find_job(running.id).value();
    CHECK(ended.status == job_status::completed);
    CHECK(stored.status == job_status::completed);
    CHECK(ended.result == stored.result);
    CHECK(ended.payload == stored.payload);
    CHECK_EQ(ended.version, stored.version);
    CHECK_EQ(ended.attempts, stored.attempts);
    CHECK_EQ(ended.run, stored.run);
    CHECK_EQ(ended.progress_percent, stored.progress_percent);
    CHECK_EQ(ended.progress_message, stored.progress_message);
    CHECK(ended.started_at == stored.started_at);
    CHECK(ended.finished_at == stored.finished_at);
    CHECK(ended.updated_at == stored.updated_at);
    CHECK(ended.run_at == stored.run_at);
  }
  CHECK_EQ(number("SELECT count(*) FROM job WHERE room IS NOT NULL"), 0);
}

// -- limits on all nodes ------------------------------------------------------

SCENARIO("a type's limit across nodes counts what runs anywhere") {
  for (int i = 0; i < 6; ++i)
    add();
  add(new_job("OTHER"));
  auto first = claim({{"TEST", 9, 2}}, 9);
  CHECK_EQ(first.jobs.size(), 2u);
  CHECK(!first.more);
  CHECK(claim({{"TEST", 9, 2}}, 9, other).jobs.empty());
  CHECK_EQ(claim({{"TEST", 9, 3}, {"OTHER", 9}}, 9, other).jobs.size(), 2u);
  // An end and a claim in one batch: there is room by then.
  auto answers =
    store.apply({{claim_write{me, {{"TEST", 9, 3}}, 9, 30s, ++token}},
                 {ending(first.jobs[0])},
                 {ending(first.jobs[1])}});
  CHECK_EQ(std::get<claimed>(answers[0]).jobs.size(), 2u);
  CHECK_EQ(claim({{"TEST", 9}}, 9).jobs.size(), 1u);
}

// -- by target ----------------------------------------------------------------

SCENARIO("jobs of a target are found in every block of their index") {
  std::vector<std::string> newest_first;
  for (auto seq : {8'190, 16'382, 90'000}) {
    add(new_job("TEST", "another"));
    store.connection().database().exec("UPDATE sqlite_sequence SET seq = "
                                       + std::to_string(seq)
                                       + " WHERE name = 'job'");
    for (int i = 0; i < 4; ++i) {
      newest_first.insert(newest_first.begin(), add().id);
      add(new_job("TEST", "another"));
    }
  }
  job_filter filter;
  filter.target_id = "target";
  std::vector<std::string> got;
  for (;;) {
    filter.limit = 5;
    const auto page = store.list_jobs(filter);
    for (const auto& x : page)
      got.push_back(x.id);
    if (page.size() < filter.limit)
      break;
    filter.before_seq = page.back().seq;
  }
  CHECK_EQ(got, newest_first);
  filter.before_seq.reset();
  filter.limit = 100;
  filter.status = job_status::pending;
  filter.type = "TEST";
  CHECK_EQ(store.list_jobs(filter).size(), 12u);
  filter.status = job_status::completed;
  CHECK(store.list_jobs(filter).empty());
  filter.target_id = "nobody's";
  filter.status.reset();
  CHECK(store.list_jobs(filter).empty());
}

END_FIXTURE_SCOPE()
