// tests/integration/persistence/sqlite.test.cpp -- what only a SQLite file
// has: its modes, its lock, its migrations, the injected clock.
#define CAF_SUITE persistence.sqlite

#include "answers.hpp"
#include "sqlite_backend.hpp"

#include "persistence/fingerprint.hpp"
#include "persistence/migration.hpp"
#include "persistence/uuid.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <sqlite3.h>

#include <functional>
#include <vector>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace reeve;
using namespace std::literals;

namespace {

// Runs `f` in a child process; returns a handle to wait for.
pid_t in_child(const std::function<int()>& f) {
  const auto pid = fork();
  if (pid != 0)
    return pid;
  int code = 99;
  try {
    code = f();
  } catch (...) {
  }
  _exit(code);
}

int exit_code_of(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

enqueue_write new_job() {
  enqueue_write result;
  result.id = make_uuid();
  result.type = "TEST";
  result.target_id = "target";
  return result;
}

struct fixture : sqlite_backend {
  timestamp now = system_time();

  mode_t mode_of(const std::string& path) {
    struct stat info {};
    REQUIRE_EQ(stat(path.c_str(), &info), 0);
    return info.st_mode & 0777;
  }

  sqlite_store clocked() {
    return sqlite_store{file, [this] { return now; }};
  }

  template <class T>
  T get(job_store& store, reeve::write what) {
    auto answers = store.apply({{std::move(what)}});
    auto result = answer_as<T>(std::move(answers.front()));
    REQUIRE(result.has_value());
    return *std::move(result);
  }

  std::vector<job> claim(job_store& store, lease_owner owner,
                         std::chrono::milliseconds lease) {
    return get<claimed>(store, claim_write{owner, {{"TEST", 10}}, 10, lease, 1})
      .jobs;
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("only paths of files are databases") {
  for (auto path : {"", ":memory:", "/tmp/"})
    CHECK_THROWS_AS(make_sqlite_factory(path), bad_database_url);
  CHECK_THROWS_AS(make_sqlite_factory("a\0b"s), bad_database_url);
  CHECK_EQ(factory->masked_url(), "sqlite:" + file);
  CHECK_EQ(std::string{factory->backend()}, "sqlite");
}

SCENARIO("the files are for their owner only") {
  auto store = connect();
  get<enqueued>(*store, new_job());
  auto lock = factory->lock_node("node");
  for (auto suffix : {"", "-wal", "-shm", ".lock"})
    CHECK_EQ(mode_of(file + suffix), 0600u);
}

SCENARIO("every connection has the settings that make commits durable") {
  sqlite_store store{file};
  auto& db = store.connection().database();
  CHECK_EQ(db.execAndGet("PRAGMA journal_mode").getString(), "wal");
  CHECK_EQ(db.execAndGet("PRAGMA synchronous").getInt(), 2);
  CHECK_EQ(db.execAndGet("PRAGMA foreign_keys").getInt(), 1);
  CHECK_EQ(db.execAndGet("PRAGMA busy_timeout").getInt(), 5'000);
}

SCENARIO("a missing file is reported, not made") {
  const auto path = (folder.path() / "missing.db").string();
  auto missing = make_sqlite_factory(path);
  CHECK_THROWS_AS(missing->connect(), store_unavailable);
  CHECK(!std::filesystem::exists(path));
  auto nowhere = make_sqlite_factory((folder.path() / "no/such.db").string());
  CHECK_THROWS_AS(nowhere->migrate(), store_unavailable);
  CHECK_THROWS_AS(nowhere->lock_node("node"), store_unavailable);
}

SCENARIO("a file that is no database is reported, and kept") {
  const auto path = (folder.path() / "text").string();
  const std::string content(5'000, 'x');
  {
    SQLite::Database made{path + ".db",
                          SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE};
  }
  auto* out = std::fopen(path.c_str(), "w");
  std::fwrite(content.data(), 1, content.size(), out);
  std::fclose(out);
  auto text = make_sqlite_factory(path);
  CHECK_THROWS_AS(text->migrate(), store_unavailable);
  CHECK_THROWS_AS(text->connect(), store_unavailable);
  CHECK_EQ(std::filesystem::file_size(path), content.size());
}

// -- migrations ---------------------------------------------------------------

SCENARIO("migrations run once") {
  CHECK_EQ(factory->migrate(), 0);
  CHECK_EQ(number("SELECT count(*) FROM migrations"),
           static_cast<int64_t>(sqlite_migrations().size()));
}

SCENARIO("of many processes that start at once, one migrates") {
  for (int round = 0; round < 5; ++round) {
    const auto path =
      (folder.path() / ("new" + std::to_string(round))).string();
    std::vector<pid_t> children;
    for (int i = 0; i < 6; ++i)
      children.push_back(
        in_child([&] { return make_sqlite_factory(path)->migrate(); }));
    int steps = 0;
    for (auto x : children) {
      const auto code = exit_code_of(x);
      CHECK(code == 0 || code == static_cast<int>(sqlite_migrations().size()));
      steps += code;
    }
    CHECK_EQ(steps, static_cast<int>(sqlite_migrations().size()));
  }
}

SCENARIO("a newer or changed schema is refused") {
  {
    SQLite::Database db{file, SQLite::OPEN_READWRITE};
    db.exec("INSERT INTO migrations VALUES (999, '0999_future.sql', 'x', 0)");
  }
  CHECK_THROWS_AS(factory->migrate(), schema_mismatch);
  {
    SQLite::Database db{file, SQLite::OPEN_READWRITE};
    db.exec("DELETE FROM migrations WHERE version = 999");
    db.exec("UPDATE migrations SET checksum = 'x' WHERE version = 1");
  }
  CHECK_THROWS_AS(factory->migrate(), schema_mismatch);
}

// -- the node's lock ----------------------------------------------------------

SCENARIO("one process at a time has the file") {
  auto lock = factory->lock_node("one");
  CHECK(lock != nullptr);
  CHECK(factory->lock_node("one") == nullptr);
  CHECK(make_sqlite_factory(file)->lock_node("two") == nullptr);
  CHECK_EQ(exit_code_of(in_child([&] {
             return make_sqlite_factory(file)->lock_node("one") ? 1 : 0;
           })),
           0);
  lock.reset();
  lock = factory->lock_node("two");
  CHECK(lock != nullptr);
}

SCENARIO("a lock goes with its process") {
  CHECK_EQ(exit_code_of(in_child([&] {
             static auto lock = factory->lock_node("one");
             return lock ? 7 : 0; // ends without a destructor
           })),
           7);
  CHECK(factory->lock_node("one") != nullptr);
}

// -- the clock ----------------------------------------------------------------

SCENARIO("a job is due, and a lease over, at the very microsecond") {
  auto store = clocked();
  auto x = new_job();
  x.run_at = now + 1'500us;
  get<enqueued>(store, x);
  const lease_owner owner{"a", 1}, other{"b", 1};
  CHECK(get<claimed>(store, claim_write{owner, {{"TEST", 1}}}).next_due_in
        == 2ms);
  now += 1'499us;
  CHECK(get<claimed>(store, claim_write{owner, {{"TEST", 1}}}).next_due_in
        == 1ms);
  now += 1us;
  CHECK_EQ(claim(store, owner, 30s).size(), 1u);
  now += 30s - 1us;
  CHECK(get<rescued>(store, rescue_write{other}).jobs.empty());
  now += 1us;
  CHECK_EQ(get<rescued>(store, rescue_write{other}).jobs.size(), 1u);
}

SCENARIO("a clock that is set back ends no job before its start") {
  auto store = clocked();
  const auto job = get<enqueued>(store, new_job()).job;
  auto running = claim(store, {"a", 1}, 30s);
  REQUIRE_EQ(running.size(), 1u);
  now -= 1h;
  settle_write wanted;
  wanted.claimed = std::make_shared<const reeve::job>(running.front());
  wanted.owner = {"a", 1};
  auto ended = get<changed>(store, wanted).job;
  CHECK(*ended.finished_at >= *ended.started_at);
  auto waiting = get<enqueued>(store, new_job()).job;
  now -= 1h;
  auto cancelled = get<changed>(store, cancel_write{waiting.id}).job;
  CHECK(*cancelled.finished_at >= cancelled.created_at);
}

// -- what a claim touches -----------------------------------------------------

SCENARIO("claims, heartbeats and progress leave the wide row alone") {
  sqlite_store store{file};
  get<enqueued>(store, new_job());
  store.connection().exec("CREATE TEMP TRIGGER untouched BEFORE UPDATE ON job "
                          "BEGIN SELECT raise(ABORT, 'touched'); END");
  auto running = claim(store, {"a", 1}, 30s);
  REQUIRE_EQ(running.size(), 1u);
  get<renewed>(store, heartbeat_write{{"a", 1}});
  get<changed>(store, progress_write{running[0].seq, 1, 50, "half"});
  get<changed>(store, cancel_write{running[0].id});
}

SCENARIO("what is not claimed does not slow a claim down") {
  sqlite_store store{file};
  const auto steps = [&] {
    static int count = 0;
    count = 0;
    auto* db = store.connection().database().getHandle();
    auto counting = [](void*) { return ++count, 0; };
    sqlite3_progress_handler(db, 10, counting, nullptr);
    get<claimed>(store, claim_write{{"a", 1}, {{"TEST", 9}, {"PAUSED", 9}}, 0});
    auto got = claim(store, {"a", 1}, 30s);
    sqlite3_progress_handler(db, 0, nullptr, nullptr);
    CHECK_EQ(got.size(), 1u);
    return count;
  };
  auto urgent = new_job();
  urgent.priority = 5;
  get<enqueued>(store, urgent);
  get<done>(store, pause_write{"PAUSED", true, "a reason"});
  const auto before = steps();
  enqueue_batch_write others;
  for (int i = 0; i < 6'000; ++i) {
    auto x = new_job();
    x.priority = i % 2;
    // Due later, of a type that is not listed, or of one that is paused.
    if (i % 3 == 0)
      x.run_at = system_time() + 1h;
    else
      x.type = i % 3 == 1 ? "UNLISTED" : "PAUSED";
    others.jobs.push_back(x);
  }
  get<enqueued_batch>(store, others);
  urgent.id = make_uuid();
  get<enqueued>(store, urgent);
  CHECK_LT(steps(), before + 100);
}

SCENARIO("pages of failures cost nothing for jobs that have not failed") {
  sqlite_store store{file};
  // How many steps of SQLite's machine the pages of three filters take.
  const auto steps = [&] {
    static int count = 0;
    count = 0;
    auto* db = store.connection().database().getHandle();
    auto counting = [](void*) { return ++count, 0; };
    sqlite3_progress_handler(db, 10, counting, nullptr);
    failure_filter by_error, by_type, by_fingerprint;
    by_error.error_like = "%nothing%";
    by_type.type = "TEST";
    by_type.error_like = "%nothing%";
    by_fingerprint.fingerprint = "nothing";
    for (const auto& x : {by_error, by_type, by_fingerprint}) {
      CHECK_EQ(get<bulk_retried>(store, bulk_retry_write{x, {}, {}, 9}).matched,
               0u);
      CHECK_EQ(store.preview_failures(x).matched, 0);
    }
    sqlite3_progress_handler(db, 0, nullptr, nullptr);
    return count;
  };
  const auto before = steps();
  enqueue_batch_write others;
  for (int i = 0; i < 6'000; ++i)
    others.jobs.push_back(new_job());
  get<enqueued_batch>(store, others);
  CHECK_LT(steps(), before + 100);
}

// -- what SQLite itself refuses -----------------------------------------------

SCENARIO("a payload that cannot be read is null") {
  sqlite_store store{file};
  get<enqueued>(store, new_job());
  store.connection().exec("UPDATE job SET payload = '{\"x\": 1e400}'");
  const auto got = claim(store, {"a", 1}, 30s);
  REQUIRE_EQ(got.size(), 1u);
  CHECK(got[0].payload.is_null());
}

SCENARIO("priorities are few, whoever writes them") {
  auto store = connect();
  get<enqueued>(*store, new_job());
  SQLite::Database db{file, SQLite::OPEN_READWRITE, 5'000};
  for (auto sql :
       {"UPDATE queue SET priority = 1001",
        "INSERT INTO queue (seq, job_type, priority, run_at, updated_at)"
        " VALUES (9, 'TEST', -1001, 0, 0)",
        "INSERT INTO job (id, job_type, target_id, payload, priority, run_at,"
        " created_at, updated_at) SELECT replace(id, '-', 'x'), 'TEST', 'x',"
        " '{}', 1001, 0, 0, 0 FROM job"})
    CHECK_THROWS_AS(db.exec(sql), SQLite::Exception);
  db.exec("UPDATE queue SET priority = -1000");
}

SCENARIO("the ledger is only added to, and no balance is negative") {
  auto store = connect();
  get<granted>(*store, grant_write{make_uuid(), "user", 5, ""});
  SQLite::Database db{file, SQLite::OPEN_READWRITE, 5'000};
  for (auto sql : {"UPDATE ledger SET amount = 6", "DELETE FROM ledger",
                   "UPDATE accounts SET balance = -1",
                   "UPDATE accounts SET balance = 'much'"})
    CHECK_THROWS_AS(db.exec(sql), SQLite::Exception);
  CHECK_EQ(store->find_account("user", 9).balance, 5);
  CHECK_EQ(store->find_account("user", 9).entries.size(), 1u);
}

END_FIXTURE_SCOPE()

// -- a file of an older version -----------------------------------------------

namespace {

// A database as it was before failures had fingerprints.
struct old_fixture {
  temporary_folder folder;
  std::string file = (folder.path() / "old.db").string();

  old_fixture() {
    SQLite::Database db{file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE};
    db.exec("CREATE TABLE migrations (version INTEGER PRIMARY KEY,"
            " name TEXT NOT NULL, checksum TEXT NOT NULL,"
            " applied_at INTEGER NOT NULL)");
    for (const auto& step : sqlite_migrations().first(3)) {
      db.exec(std::string{step.sql});
      SQLite::Statement row{db, "INSERT INTO migrations VALUES (?, ?, ?, 0)"};
      row.bind(1, step.version);
      row.bind(2, std::string{step.name});
      row.bind(3, step.checksum());
      row.exec();
    }
    add(db, "FAILED", "page 7 failed");
    add(db, "CANCELLED", "page 8 failed");
    add(db, "COMPLETED", {});
  }

  static void add(SQLite::Database& db, const std::string& outcome,
                  const std::optional<std::string>& error) {
    SQLite::Statement row{
      db,
      "INSERT INTO job (id, job_type, target_id, payload, run_at, outcome,"
      " error_message, progress_percent, progress_message, created_at,"
      " finished_at, updated_at)"
      " VALUES (?, 'TEST', 'target', '{}', 1, ?, ?, 40, 'page 2', 1, 2, 2)"};
    row.bind(1, make_uuid());
    row.bind(2, outcome);
    if (error)
      row.bind(3, *error);
    row.exec();
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(old_fixture)

SCENARIO("an older file is brought up to date with what it has") {
  auto factory = make_sqlite_factory(file);
  CHECK_EQ(factory->migrate(),
           static_cast<int>(sqlite_migrations().size()) - 3);
  auto store = factory->connect();
  auto groups = store->error_groups({}, 9);
  REQUIRE_EQ(groups.size(), 1u);
  CHECK_EQ(groups[0].pattern, "page <n> failed");
  CHECK_EQ(groups[0].fingerprint, fingerprint_of("page 1 failed"));
  for (const auto& x : store->list_jobs({})) {
    CHECK_EQ(x.progress_message, "");
    CHECK_EQ(x.progress_percent, x.status == job_status::completed ? 40 : 0);
    CHECK(x.used == usage{});
  }
  auto answers = store->apply({{bulk_retry_write{{}, {}, {}, 9}}});
  CHECK_EQ(std::get<bulk_retried>(answers[0]).jobs.size(), 1u);
}

END_FIXTURE_SCOPE()
