// tests/integration/persistence/sqlite_faults.test.cpp -- a SQLite store whose
// file is locked, full, read-only, gone, or whose process dies.
#define CAF_SUITE persistence.sqlite_faults

#include "sqlite_backend.hpp"

#include "persistence/uuid.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <sqlite3.h>

#include <csignal>
#include <future>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace reeve;
using namespace std::literals;

namespace {

enqueue_write new_job() {
  enqueue_write result;
  result.id = make_uuid();
  result.type = "TEST";
  result.target_id = "target";
  return result;
}

struct fixture : sqlite_backend {
  sqlite_store store{file};

  // After every fault: what is stored is whole.
  ~fixture() {
    SQLite::Database db{file, SQLite::OPEN_READWRITE, 5'000};
    CHECK_EQ(db.execAndGet("PRAGMA integrity_check").getString(), "ok");
    CHECK(!SQLite::Statement(db, "PRAGMA foreign_key_check").executeStep());
    CHECK_EQ(number("SELECT count(*) FROM job WHERE outcome IS NULL"),
             number("SELECT (SELECT count(*) FROM queue)"
                    " + (SELECT count(*) FROM running)"));
  }

  bool add(const enqueue_write& x = new_job()) {
    return std::holds_alternative<enqueued>(store.apply({{x}}).front());
  }

  void wait_at_most(int millis) {
    store.connection().database().setBusyTimeout(millis);
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("a lock held for long is an outage, and passes") {
  SQLite::Database blocker{file, SQLite::OPEN_READWRITE};
  wait_at_most(20);
  blocker.exec("BEGIN IMMEDIATE");
  CHECK_THROWS_AS(add(), store_unavailable);
  // Readers do not wait behind writers.
  CHECK(store.list_jobs({}).empty());
  store.ping();
  blocker.exec("COMMIT");
  CHECK(add());
}

SCENARIO("a lock held for a moment is waited for") {
  std::promise<void> locked;
  auto blocker = std::async(std::launch::async, [&] {
    SQLite::Database db{file, SQLite::OPEN_READWRITE};
    db.exec("BEGIN IMMEDIATE");
    locked.set_value();
    usleep(100'000);
    db.exec("COMMIT");
  });
  locked.get_future().wait();
  CHECK(add());
  blocker.get();
}

SCENARIO("two processes write at the same time and both get through") {
  constexpr int jobs = 150;
  const auto child = fork();
  if (child == 0) {
    sqlite_store mine{file};
    for (int i = 0; i < jobs; ++i)
      if (!std::holds_alternative<enqueued>(mine.apply({{new_job()}}).front()))
        _exit(1);
    _exit(0);
  }
  for (int i = 0; i < jobs; ++i)
    CHECK(add());
  int status = -1;
  waitpid(child, &status, 0);
  CHECK_EQ(status, 0);
  CHECK_EQ(number("SELECT count(*) FROM queue"), 2 * jobs);
}

SCENARIO("a read-only database is an outage, and passes") {
  store.connection().exec("PRAGMA query_only = ON");
  CHECK_THROWS_AS(add(), store_unavailable);
  store.connection().exec("PRAGMA query_only = OFF");
  CHECK(add());
}

SCENARIO("a file that may not be written is an outage") {
  CHECK(add());
  chmod(folder.path().c_str(), 0755);
  chmod(file.c_str(), 0444);
  const auto child = fork();
  if (child == 0) {
    // Root may write whatever the mode says.
    if (geteuid() == 0 && setuid(65534) != 0)
      _exit(2);
    try {
      sqlite_store mine{file};
      mine.apply({{new_job()}});
      _exit(1);
    } catch (const store_unavailable&) {
      _exit(0);
    } catch (...) {
      _exit(3);
    }
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK_EQ(status, 0);
  chmod(file.c_str(), 0600);
  CHECK(add());
}

SCENARIO("a full disk is an outage that loses nothing, and passes") {
  auto& db = store.connection().database();
  const auto pages = db.execAndGet("PRAGMA page_count").getInt();
  db.execAndGet("PRAGMA max_page_count = " + std::to_string(pages + 60));
  auto big = new_job();
  big.payload = {{"text", std::string(20'000, 'x')}};
  std::vector<std::string> acknowledged;
  bool full = false;
  for (int i = 0; i < 100 && !full; ++i) {
    big.id = make_uuid();
    try {
      CHECK(add(big));
      acknowledged.push_back(big.id);
    } catch (const store_unavailable&) {
      full = true;
    }
  }
  CHECK(full);
  CHECK(!acknowledged.empty());
  CHECK(!store.find_job(big.id));
  // Still full, and in no transaction that is half done.
  CHECK_THROWS_AS(add(big), store_unavailable);
  CHECK_EQ(sqlite3_get_autocommit(db.getHandle()), 1);
  db.execAndGet("PRAGMA max_page_count = 1000000");
  CHECK(add(big));
  acknowledged.push_back(big.id);
  for (const auto& id : acknowledged)
    CHECK(store.find_job(id).has_value());
}

SCENARIO("a deleted file is an outage until it is back") {
  CHECK(add());
  std::filesystem::rename(file, file + ".away");
  CHECK_THROWS_AS(add(), store_unavailable);
  CHECK_THROWS_AS(store.ping(), store_unavailable);
  CHECK_THROWS_AS(store.reconnect(), store_unavailable);
  CHECK_THROWS_AS(store.ping(), store_unavailable);
  CHECK_THROWS_AS(add(), store_unavailable);
  CHECK_THROWS_AS(store.stats(), store_unavailable);
  CHECK(!std::filesystem::exists(file));
  std::filesystem::rename(file + ".away", file);
  store.reconnect();
  CHECK(add());
  CHECK_EQ(number("SELECT count(*) FROM job"), 2);
}

// Stops SQLite at the n-th step of its program, for every n there is. At the
// last of them the commit is done although it fails: it is in doubt.
SCENARIO("a write that stops half-way is undone, wherever it stops") {
  static int left = 0;
  auto* db = store.connection().database().getHandle();
  auto countdown = [](void*) { return --left == 0 ? 1 : 0; };
  auto x = new_job();
  x.target_id = make_uuid();
  x.new_scrap = scrap{};
  x.new_scrap->id = x.target_id;
  x.new_scrap->content = "text";
  CHECK(add(x));
  store.apply({{grant_write{make_uuid(), "user", 3, ""}}});
  const auto claims = store.apply({{claim_write{{"a", 1}, {{"TEST", 1}}}}});
  settle_write wanted;
  wanted.claimed =
    std::make_shared<const job>(std::get<claimed>(claims.front()).jobs.front());
  wanted.owner = {"a", 1};
  knowledge_card card;
  card.id = make_uuid();
  card.scrap_id = x.target_id;
  card.job_id = x.id;
  wanted.effects.push_back(card);
  step_write step;
  step.seq = wanted.claimed->seq;
  step.run = wanted.claimed->run;
  step.step.name = "text";
  step.step.input_hash = "hash";
  step.step.used.images = 1;
  int outages = 0;
  for (bool ended = false; !ended;) {
    auto paid = new_job();
    paid.user_id = "user";
    paid.price = 3;
    left = ++outages;
    sqlite3_progress_handler(db, 1, countdown, nullptr);
    try {
      store.apply({{paid}, {step}, {wanted}});
      ended = true;
    } catch (const store_unavailable&) {
    }
    sqlite3_progress_handler(db, 0, nullptr, nullptr);
    REQUIRE_EQ(sqlite3_get_autocommit(db), 1);
    const auto committed = store.find_job(paid.id).has_value();
    REQUIRE_EQ(store.find_job(x.id)->status == job_status::completed,
               committed);
    REQUIRE_EQ(store.find_card(card.id).has_value(), committed);
    REQUIRE_EQ(store.find_account("user", 9).balance, committed ? 0 : 3);
    REQUIRE_EQ(store.steps_of(x.id).size(), committed ? 1u : 0u);
    if (committed) {
      ended = true;
      auto answers = store.apply({{paid, true}, {step, true}, {wanted, true}});
      CHECK(std::get<enqueued>(answers[0]).kind == enqueue_kind::created);
      CHECK(std::get<enqueued>(answers[0]).balance == 0);
      CHECK(std::holds_alternative<changed>(answers[1]));
      CHECK(std::holds_alternative<changed>(answers[2]));
    }
  }
  CHECK_GT(outages, 100);
  CHECK_EQ(store.find_job(x.id)->used.images, 1u);
  CHECK_EQ(store.find_account("user", 9).entries.size(), 2u);
  CHECK_EQ(number("SELECT count(*) FROM job"), 2);
  CHECK_EQ(number("SELECT count(*) FROM knowledge_cards"), 1);
}

SCENARIO("kill -9 loses nothing that was acknowledged") {
  size_t acknowledged = 0;
  for (int round = 0; round < 8; ++round) {
    int ends[2];
    REQUIRE_EQ(pipe(ends), 0);
    const auto child = fork();
    if (child == 0) {
      sqlite_store mine{file};
      for (;;) {
        enqueue_batch_write batch;
        for (int i = 0; i < 5; ++i)
          batch.jobs.push_back(new_job());
        auto answers =
          mine.apply({{batch}, {claim_write{{"a", round}, {{"TEST", 3}}, 3}}});
        for (const auto& x : batch.jobs)
          if (::write(ends[1], x.id.data(), 36) != 36)
            _exit(1);
      }
    }
    close(ends[1]);
    std::string ids;
    char buffer[36 * 5];
    // Dies somewhere in the commits that follow.
    for (ssize_t n = 0; ids.size() < 36u * 5 * (3 + 2 * round)
         && (n = read(ends[0], buffer, sizeof buffer)) > 0;)
      ids.append(buffer, static_cast<size_t>(n));
    kill(child, SIGKILL);
    for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
      ids.append(buffer, static_cast<size_t>(n));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    for (size_t i = 0; i + 36 <= ids.size(); i += 36) {
      CHECK(store.find_job(ids.substr(i, 36)).has_value());
      ++acknowledged;
    }
    // All or none, also for the batch that nobody heard of.
    CHECK_EQ(number("SELECT count(*) FROM job") % 5, 0);
  }
  CHECK_GE(acknowledged, 5u * 8 * 3);
  CHECK(add());
}

END_FIXTURE_SCOPE()
