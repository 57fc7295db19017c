// tests/integration/persistence/postgres_copy.test.cpp -- many jobs that come
// in at once: by COPY, and what happens to those that it cannot take.
#define CAF_SUITE persistence.postgres_copy

#include "persistence/store_rules.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "postgres_fixture.hpp"

using namespace reeve;

namespace {

struct fixture : postgres_fixture {
  pqxx::connection db{backend.url};

  void exec(const std::string& sql) {
    pqxx::nontransaction{db}.exec(sql);
  }

  // The statement that is used for a few jobs is an error where a table has a
  // rule; COPY looks at no rules.
  void forbid_insert() {
    exec("CREATE RULE no_insert AS ON INSERT TO reeve.job DO ALSO NOTHING");
  }

  static std::vector<write_entry> many(size_t count = 200) {
    std::vector<write_entry> result;
    for (size_t i = 0; i < count; ++i) {
      auto x = new_job();
      x.target_id = std::to_string(i);
      result.push_back({std::move(x)});
    }
    return result;
  }

  static enqueue_write& job_of(write_entry& x) {
    return std::get<enqueue_write>(x.what);
  }

  static std::string code_of(const write_answer& x) {
    const auto* no = std::get_if<refusal>(&x);
    return std::string{no ? to_string(no->code) : "accepted"};
  }

  // All that a job has.
  static std::string shown(const job& x) {
    std::ostringstream out;
    auto time = [](timestamp x) { return x.time_since_epoch().count(); };
    out << x.seq << '|' << x.id << '|' << x.type << '|' << to_string(x.status)
        << '|' << x.target_id << '|' << x.user_id.value_or("nobody") << '|'
        << x.payload.value() << '|' << x.result.value() << '|'
        << x.progress_percent << '|' << x.attempts << '|' << x.max_attempts
        << '|' << x.priority << '|' << x.unique_key.value_or("none") << '|'
        << x.trace.parent << '|' << x.trace.state << '|' << time(x.run_at)
        << '|' << x.reason << '|' << x.version << '|' << x.run << '|'
        << time(x.created_at) << '|' << time(x.updated_at) << '|'
        << x.started_at.has_value() << x.finished_at.has_value();
    return out.str();
  }

  int64_t count() {
    return backend.number("SELECT count(*) FROM job JOIN queue USING (seq)");
  }

  // All but one of a batch are accepted.
  void check_only_refused(const std::vector<write_answer>& answers,
                          size_t refused,
                          const std::string& code = "invalid_argument") {
    for (size_t i = 0; i < answers.size(); ++i)
      if (i == refused)
        CHECK_EQ(code_of(answers[i]), code);
      else
        CHECK_EQ(code_of(answers[i]), "accepted");
    CHECK_EQ(count(), static_cast<int64_t>(answers.size()) - 1);
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

// -- what is copied -----------------------------------------------------------

SCENARIO("many jobs at once are copied, and are what a single one is") {
  auto batch = many();
  const std::string odd = "a\tb\nc\rd\\e\\N\\.\"'\x01\x7f\u00e4\U0001f34e";
  auto& x = job_of(batch[7]);
  std::ranges::transform(x.id, x.id.begin(), ::toupper);
  x.type = "T" + odd;
  x.target_id = odd;
  x.user_id = odd;
  x.payload = {{odd, odd}, {"list", {1, 2.5, nullptr, "\\N"}}};
  x.priority = -7;
  x.max_attempts = 9;
  job_of(batch[8]).target_id = "\\N";
  job_of(batch[8]).user_id = "\\N";
  job_of(batch[9]).target_id = "\\.";
  job_of(batch[10]).payload = {{"text", std::string(300'000, '\\')}};
  job_of(batch[11]).run_at = earliest_timestamp;
  job_of(batch[12]).run_at = latest_timestamp;
  job_of(batch[13]).run_at = timestamp{std::chrono::microseconds{-1}};
  job_of(batch[14]).trace = {
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", ""};
  job_of(batch[15]).trace = {
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
    "congo=t61,rojo=\\N"};
  forbid_insert();
  const auto answers = store->apply(batch);
  exec("DROP RULE no_insert ON reeve.job");
  for (size_t i = 0; i < batch.size(); ++i) {
    const auto got = as<enqueued>(answers[i]);
    CHECK(got.kind == enqueue_kind::created);
    const auto stored = store->find_job(job_of(batch[i]).id);
    REQUIRE(stored.has_value());
    CHECK_EQ(shown(*stored), shown(got.job));
    // The same by the other way.
    auto alone = job_of(batch[i]);
    alone.id = make_uuid();
    auto other = add(alone);
    other.id = got.job.id;
    other.seq = got.job.seq;
    CHECK(other.created_at > got.job.created_at);
    if (!alone.run_at)
      other.run_at = got.job.run_at;
    other.created_at = other.updated_at = got.job.created_at;
    CHECK_EQ(shown(other), shown(got.job));
  }
}

SCENARIO("copied jobs keep their order and the database's clock") {
  auto batch = many();
  batch.push_back({claim_write{me, types, 300, std::chrono::seconds{30}, 1}});
  forbid_insert();
  const auto answers = store->apply(batch);
  auto got = as<claimed>(answers.back()).jobs;
  REQUIRE_EQ(got.size(), 200u);
  for (size_t i = 0; i < got.size(); ++i) {
    CHECK_EQ(got[i].target_id, std::to_string(i));
    CHECK(got[i].run_at == got[0].created_at);
    CHECK(got[i].created_at == got[0].created_at);
    CHECK(i == 0 || got[i].seq > got[i - 1].seq);
  }
  CHECK_EQ(backend.number("SELECT count(DISTINCT (created_at, run_at)) FROM job"
                          " WHERE created_at = run_at"
                          " AND created_at = updated_at"),
           1);
}

SCENARIO("scraps and books come with copied jobs") {
  auto batch = many();
  for (size_t i = 0; i < batch.size(); ++i) {
    auto& x = job_of(batch[i]);
    x.target_id = make_uuid();
    if (i % 2 == 0) {
      x.new_scrap = scrap{};
      x.new_scrap->id = x.target_id;
      x.new_scrap->content = "a\ttext";
    } else {
      x.new_content = content{};
      x.new_content->id = x.target_id;
      x.new_content->job_id = x.id;
      x.new_content->title = "a\ntitle";
    }
  }
  forbid_insert();
  for (auto& x : store->apply(batch))
    as<enqueued>(x);
  CHECK_EQ(backend.number("SELECT count(*) FROM scraps JOIN job"
                          " ON target_id = scraps.id::text"),
           100);
  CHECK_EQ(backend.number("SELECT count(*) FROM contents JOIN job"
                          " ON job.id = contents.job_id"),
           100);
}

SCENARIO("jobs with keys go beside those that are copied") {
  auto batch = many();
  job_of(batch[3]).unique_key = "key";
  job_of(batch[150]).unique_key = "key";
  job_of(batch[160]).idempotency_key = "request";
  job_of(batch[160]).idempotency_hash = "hash";
  enqueue_batch_write ordered;
  for (int i = 0; i < 5; ++i)
    ordered.jobs.push_back(new_job());
  ordered.jobs[2].unique_key = "another";
  batch.push_back({ordered});
  const auto answers = store->apply(batch);
  const auto first = as<enqueued>(answers[3]);
  const auto second = as<enqueued>(answers[150]);
  CHECK(second.kind == enqueue_kind::deduplicated);
  CHECK_EQ(second.job.seq, first.job.seq);
  CHECK(as<enqueued>(answers[160]).kind == enqueue_kind::created);
  const auto members = as<enqueued_batch>(answers.back()).jobs;
  for (size_t i = 1; i < members.size(); ++i)
    CHECK(members[i].job.seq > members[i - 1].job.seq);
  CHECK_EQ(count(), 204);
}

SCENARIO("a user who may only add jobs does without COPY") {
  const auto role = backend.name + "_role";
  exec("CREATE ROLE " + role + "; GRANT USAGE ON SCHEMA reeve TO " + role
       + "; GRANT ALL ON ALL TABLES IN SCHEMA reeve TO " + role);
  postgres_session session{backend.url};
  session.connect();
  {
    pqxx::work tx{session.connection()};
    tx.exec("SET LOCAL ROLE " + role);
    auto batch = many();
    std::vector<write_answer> answers(batch.size());
    std::vector<postgres_item> items;
    for (size_t i = 0; i < batch.size(); ++i)
      items.push_back({&batch[i], &answers[i]});
    postgres_writer{session, tx, false, postgres_writer::arrivals_by::copy}
      .apply(items);
    tx.commit();
    for (auto& x : answers)
      as<enqueued>(x);
  }
  CHECK_EQ(count(), 200);
  exec("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

// -- what COPY cannot take ----------------------------------------------------

SCENARIO("an id twice in a batch is refused once") {
  auto batch = many();
  job_of(batch[150]).id = job_of(batch[50]).id;
  const auto answers = store->apply(batch);
  check_only_refused(answers, 150);
  CHECK_EQ(store->find_job(job_of(batch[50]).id)->target_id, "50");
}

SCENARIO("an id that another job has is refused alone") {
  const auto old = add(new_job());
  auto batch = many();
  job_of(batch[0]).id = old.id;
  const auto answers = store->apply(batch);
  CHECK_EQ(code_of(answers[0]), "invalid_argument");
  for (size_t i = 1; i < answers.size(); ++i)
    CHECK_EQ(code_of(answers[i]), "accepted");
  CHECK_EQ(count(), 200);
}

SCENARIO("a batch with an id that is taken is refused as a whole, and alone") {
  auto batch = many(100);
  enqueue_batch_write whole;
  for (int i = 0; i < 100; ++i)
    whole.jobs.push_back(new_job());
  whole.jobs[70].id = whole.jobs[20].id;
  batch.push_back({whole});
  const auto answers = store->apply(batch);
  check_only_refused(answers, 100);
  CHECK_EQ(std::get<refusal>(answers[100]).message,
           "jobs[70]: another job has the id " + whole.jobs[70].id);
}

SCENARIO(
  "texts that cannot be stored are refused before the others are copied") {
  using change = void (*)(enqueue_write&, const std::string&);
  const change changes[] = {
    [](enqueue_write& x, const std::string& s) { x.type = s; },
    [](enqueue_write& x, const std::string& s) { x.target_id = s; },
    [](enqueue_write& x, const std::string& s) { x.user_id = s; },
    [](enqueue_write& x, const std::string& s) {
      x.payload = {{"x", s}};
    },
    [](enqueue_write& x, const std::string& s) {
      x.payload = {{s, 1}};
    },
  };
  auto batch = many();
  const std::string bad_texts[] = {std::string("a\0b", 3), "a\xff", "\xc3",
                                   "\xed\xa0\x80"};
  std::vector<size_t> bad;
  for (const auto& text : bad_texts)
    for (auto f : changes) {
      bad.push_back(bad.size() * 3);
      f(job_of(batch[bad.back()]), text);
    }
  forbid_insert();
  const auto answers = store->apply(batch);
  for (size_t i = 0; i < answers.size(); ++i)
    CHECK_EQ(code_of(answers[i]),
             std::ranges::find(bad, i) != bad.end() ? "invalid_argument"
                                                    : "accepted");
  CHECK_EQ(count(), 180);
}

SCENARIO("what only the database refuses is refused alone") {
  exec("ALTER TABLE reeve.job ADD CHECK (target_id <> '77')");
  check_only_refused(store->apply(many()), 77);
}

SCENARIO("what the queue refuses leaves no record behind") {
  exec("ALTER TABLE reeve.queue ADD CHECK (priority <> 77)");
  auto batch = many();
  job_of(batch[5]).priority = 77;
  check_only_refused(store->apply(batch), 5);
  CHECK_EQ(backend.number("SELECT count(*) FROM job"), 199);
}

SCENARIO("an id that somebody is adding costs only its own write") {
  auto batch = many();
  pqxx::work tx{db};
  tx.exec("INSERT INTO reeve.job (id, job_type, target_id, run_at)"
          " VALUES ('"
          + job_of(batch[9]).id + "', 'X', 'x', now())");
  const auto answers = store->apply(batch);
  tx.abort();
  check_only_refused(answers, 9, "conflict");
}

// -- repeats ------------------------------------------------------------------

SCENARIO("a copied batch that is repeated adds nothing") {
  auto batch = many();
  forbid_insert();
  const auto first = store->apply(batch);
  exec("DROP RULE no_insert ON reeve.job");
  store->reconnect();
  for (auto& x : batch)
    x.repeated = true;
  // A new one among them.
  for (auto& x : many())
    batch.push_back(std::move(x));
  const auto again = store->apply(batch);
  for (size_t i = 0; i < first.size(); ++i) {
    const auto x = as<enqueued>(again[i]);
    CHECK(x.kind == enqueue_kind::created);
    CHECK_EQ(x.job.seq, as<enqueued>(first[i]).job.seq);
  }
  CHECK_EQ(count(), 400);
}

SCENARIO("a session that ends while it copies leaves nothing behind") {
  auto batch = many();
  pqxx::work tx{db};
  tx.exec("INSERT INTO reeve.job (id, job_type, target_id, run_at)"
          " VALUES ('"
          + job_of(batch[9]).id + "', 'X', 'x', now())");
  auto aside = std::async(std::launch::async, [&] {
    return unavailable([&] { store->apply(batch); });
  });
  await_blocked();
  CHECK_EQ(backend.cluster.terminate_backends(backend.name, "COPY reeve.job%"),
           1);
  aside.get();
  tx.abort();
  CHECK_EQ(count(), 0);
  store->reconnect();
  for (auto& x : batch)
    x.repeated = true;
  for (auto& x : store->apply(batch))
    as<enqueued>(x);
  CHECK_EQ(count(), 200);
}

END_FIXTURE_SCOPE()
