// tests/integration/persistence/conformance_start.hpp -- jobs that come in
// together with a claim. Included once by the suite of each store.
#include "conformance_fixture.hpp"

#include <algorithm>

namespace conformance_start {

using namespace reeve;

struct start_fixture : fixture {
  struct outcome_of_batch {
    std::vector<job> added;
    claimed got;
  };

  /// One batch: the claim first, as a node sends it.
  outcome_of_batch together(std::vector<enqueue_write> jobs, claim_write wanted,
                            bool repeated = false) {
    std::vector<write_entry> batch{{std::move(wanted), repeated}};
    for (auto& x : jobs)
      batch.push_back({std::move(x), repeated});
    auto answers = store->apply(batch);
    REQUIRE_EQ(answers.size(), batch.size());
    outcome_of_batch result;
    REQUIRE(std::holds_alternative<claimed>(answers.front()));
    result.got = std::get<claimed>(std::move(answers.front()));
    for (size_t i = 1; i < answers.size(); ++i) {
      REQUIRE(std::holds_alternative<enqueued>(answers[i]));
      result.added.push_back(std::get<enqueued>(answers[i]).job);
    }
    return result;
  }

  static job get(const write_answer& x) {
    REQUIRE(std::holds_alternative<enqueued>(x));
    return std::get<enqueued>(x).job;
  }

  using fixture::get;

  static std::vector<std::string> ids(const std::vector<job>& jobs) {
    std::vector<std::string> result;
    for (const auto& x : jobs)
      result.push_back(x.id);
    return result;
  }
};

BEGIN_FIXTURE_SCOPE(start_fixture)

SCENARIO("a job that comes with a claim starts as any other") {
  auto wanted = new_job();
  wanted.payload = nlohmann::json{{"a", "\u00e9"}};
  wanted.user_id = "someone";
  wanted.priority = -3;
  wanted.max_attempts = 7;
  wanted.trace = read_trace(
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "k=v");
  auto [added, got] = together({wanted}, claim(3));
  CHECK(added[0].status == job_status::pending);
  CHECK_EQ(added[0].version, 1);
  REQUIRE_EQ(got.jobs.size(), 1u);
  const auto& running = got.jobs[0];
  CHECK(running.status == job_status::processing);
  CHECK_EQ(running.attempts, 1u);
  CHECK_EQ(running.run, 1);
  CHECK_EQ(running.version, 2);
  CHECK(running.started_at.has_value());
  CHECK_EQ(running.trace.parent, wanted.trace.parent);
  CHECK_EQ(seen(running), seen(now(added[0])));
  CHECK(!got.more);
  CHECK(!got.next_due_in);
  CHECK(complete(running).status == job_status::completed);
}

SCENARIO("such a run holds a lease, and is put back as any other") {
  auto [added, got] = together({new_job()}, claim(1));
  REQUIRE_EQ(got.jobs.size(), 1u);
  auto leases = get<renewed>(heartbeat_write{me, ms{30'000}}).leases;
  REQUIRE_EQ(leases.size(), 1u);
  CHECK_EQ(leases[0].run, 1);
  settle(got.jobs[0], run_outcome::failed, verdict::retry);
  auto again = start();
  CHECK_EQ(again.id, added[0].id);
  CHECK_EQ(again.attempts, 2u);
  CHECK_EQ(again.run, 2);
}

SCENARIO("nobody passes by jobs that are due") {
  auto older = add();
  auto [added, got] = together({new_job()}, claim(1));
  CHECK_EQ(ids(got.jobs), ids({older}));
  CHECK(got.more);
  CHECK_EQ(state(added[0]), "PENDING");
  // Not even urgent ones: there is room for both.
  auto urgent = new_job();
  urgent.priority = -9;
  auto [later, both] = together({urgent}, claim(5));
  CHECK_EQ(ids(both.jobs), ids({later[0], added[0]}));
  CHECK(!both.more);
}

SCENARIO("of several jobs the claim's order counts") {
  auto low = new_job(), high = new_job();
  low.priority = 5;
  auto [added, got] = together({low, high}, claim(2));
  CHECK_EQ(ids(got.jobs), ids({added[1], added[0]}));
}

SCENARIO("a claim takes no more than its limits") {
  auto [added, got] = together({new_job(), new_job(), new_job()}, claim(2));
  CHECK_EQ(got.jobs.size(), 2u);
  CHECK(got.more);
  CHECK_EQ(get<claimed>(claim(9)).jobs.size(), 1u);
  auto one = claim(9);
  one.types = {{"A", 1}, {"B", 5}};
  auto [more, some] =
    together({new_job("A"), new_job("A"), new_job("B"), new_job("C")}, one);
  CHECK_EQ(ids(some.jobs), ids({more[0], more[2]}));
  CHECK_EQ(state(more[1]), "PENDING");
  CHECK_EQ(state(more[3]), "PENDING");
}

SCENARIO("a limit over all nodes holds for jobs that come with a claim") {
  auto limited = claim(5);
  limited.types = {{"A", 5, 1}};
  auto [added, got] = together({new_job("A"), new_job("A")}, limited);
  CHECK_EQ(ids(got.jobs), ids({added[0]}));
  CHECK_EQ(state(added[1]), "PENDING");
}

SCENARIO("limits hold for what comes with others, and late") {
  auto theirs = new_job("B");
  add(theirs);
  start(other);
  auto wanted = claim(5);
  wanted.types = {{"TEST", 5}, {"A", 1}, {"B", 5, 1}};
  auto late = [&](std::string type) {
    auto result = new_job(std::move(type));
    result.run_at = add(new_job("OTHER")).created_at - std::chrono::seconds{1};
    return result;
  };
  auto [added, got] =
    together({new_job(), late("B"), late("A"), late("A")}, wanted);
  CHECK_EQ(got.jobs.size(), 2u);
  CHECK_EQ(state(added[0]), "PROCESSING");
  CHECK_EQ(state(added[1]), "PENDING");
  CHECK(state(added[2]) != state(added[3]));
}

SCENARIO("what is put back in the same transaction goes first") {
  auto urgent = new_job();
  urgent.priority = -9;
  add(urgent);
  auto begun = start();
  auto answers = store->apply(
    {{ending(begun, run_outcome::interrupted, verdict::retry_unspent), false},
     {claim(1), false},
     {new_job(), false}});
  REQUIRE(std::holds_alternative<claimed>(answers[1]));
  CHECK_EQ(ids(std::get<claimed>(answers[1]).jobs), ids({begun}));
  REQUIRE(std::holds_alternative<enqueued>(answers[2]));
  CHECK_EQ(state(std::get<enqueued>(answers[2]).job), "PENDING");
}

SCENARIO("jobs of paused and of other types wait") {
  get<done>(pause_write{"A", true, "maintenance"});
  auto [added, got] = together({new_job("A")}, claim(3));
  CHECK(got.jobs.empty());
  CHECK_EQ(got.paused, std::vector<std::string>{"A"});
  CHECK_EQ(state(added[0]), "PENDING");
  auto only = claim(3);
  only.types = {{"TEST", 3}};
  auto [others, some] = together({new_job("B"), new_job()}, only);
  CHECK_EQ(ids(some.jobs), ids({others[1]}));
  CHECK(some.paused.empty());
  CHECK_EQ(state(others[0]), "PENDING");
  // One that is paused in the same transaction.
  auto answers = store->apply({{claim(3), false},
                               {new_job("OTHER"), false},
                               {pause_write{"OTHER", true, "now"}, false}});
  REQUIRE(std::holds_alternative<enqueued>(answers[1]));
  CHECK_EQ(state(std::get<enqueued>(answers[1]).job), "PENDING");
}

SCENARIO("a job that is due later waits, and the claim says until when") {
  auto later = new_job();
  later.run_at = add().created_at + std::chrono::hours{1};
  complete(start());
  add(later);
  auto [added, got] = together({new_job()}, claim(3));
  CHECK_EQ(ids(got.jobs), ids(added));
  REQUIRE(got.next_due_in.has_value());
  CHECK_LE(got.next_due_in->count(), 3'600'000);
  CHECK_GT(got.next_due_in->count(), 3'500'000);
  auto past = new_job();
  past.run_at = added[0].created_at - std::chrono::hours{1};
  later.id = make_uuid();
  auto [two, one] = together({past, later}, claim(3));
  CHECK_EQ(ids(one.jobs), ids({two[0]}));
  CHECK_EQ(state(two[1]), "PENDING");
}

SCENARIO("what was there before does not start anew") {
  auto keyed = new_job();
  keyed.unique_key = "k";
  auto [first, got] = together({keyed}, claim(3));
  REQUIRE_EQ(got.jobs.size(), 1u);
  keyed.id = make_uuid();
  auto [second, nothing] = together({keyed}, claim(3));
  CHECK_EQ(second[0].id, first[0].id);
  CHECK(nothing.jobs.empty());
  auto same_id = new_job();
  same_id.id = first[0].id;
  auto answers = store->apply({{claim(3), false}, {same_id, false}});
  CHECK_EQ(code_of(answers[1]), "invalid_argument");
  REQUIRE(std::holds_alternative<claimed>(answers[0]));
  CHECK(std::get<claimed>(answers[0]).jobs.empty());
}

SCENARIO("a start whose commit was in doubt is found again") {
  auto wanted = new_job();
  auto asked = claim(3);
  auto [first, got] = together({wanted}, asked);
  auto [second, again] = together({wanted}, asked, true);
  CHECK_EQ(ids(second), ids(first));
  CHECK_EQ(ids(again.jobs), ids(got.jobs));
  CHECK_EQ(again.jobs.at(0).run, 1);
  // And one that never came to be.
  auto lost = new_job();
  auto [third, fresh] = together({lost}, claim(3), true);
  CHECK_EQ(ids(fresh.jobs), ids(third));
  CHECK_EQ(fresh.jobs.at(0).attempts, 1u);
}

SCENARIO("what comes with the job is there when it starts") {
  auto [scraps, analysed] = together({new_scrap_job()}, claim(1));
  CHECK_EQ(ids(analysed.jobs), ids(scraps));
  CHECK(store->find_scrap(scraps[0].target_id).has_value());
  grant("user", 10);
  auto [books, drawn] = together({new_book_job("user", 4)}, claim(1));
  CHECK_EQ(ids(drawn.jobs), ids(books));
  CHECK_EQ(balance(), 6);
  settle(drawn.jobs[0], run_outcome::failed_permanently, verdict::fail);
  CHECK_EQ(balance(), 10);
}

SCENARIO("an end in the same transaction makes no difference") {
  auto running = together({new_job()}, claim(1)).got.jobs.at(0);
  auto answers = store->apply(
    {{ending(running, run_outcome::completed, verdict::complete), false},
     {claim(3), false},
     {new_job(), false}});
  CHECK(std::holds_alternative<completed>(answers[0]));
  REQUIRE(std::holds_alternative<claimed>(answers[1]));
  REQUIRE(std::holds_alternative<enqueued>(answers[2]));
  CHECK_EQ(ids(std::get<claimed>(answers[1]).jobs),
           ids({std::get<enqueued>(answers[2]).job}));
  CHECK_EQ(state(running), "COMPLETED");
}

SCENARIO("ends in the same transaction are answered each for itself") {
  auto one = together({new_job()}, claim(1)).got.jobs.at(0);
  auto two = together({new_job()}, claim(1)).got.jobs.at(0);
  auto gone = together({new_job()}, claim(1)).got.jobs.at(0);
  complete(gone);
  auto wanted = new_job();
  const auto done = run_outcome::completed;
  auto answers = store->apply({{ending(two, done, verdict::complete)},
                               {ending(gone, done, verdict::complete)},
                               {wanted},
                               {claim(3)},
                               {ending(one, done, verdict::complete)}});
  auto ended = [&](size_t i, const job& was) {
    REQUIRE(std::holds_alternative<completed>(answers[i]));
    const auto now = std::get<completed>(answers[i]).now();
    CHECK_EQ(seen(now), seen(this->now(was)));
    CHECK_EQ(state(was), "COMPLETED");
    CHECK_EQ(now.result.text(), R"({"answer":42})");
  };
  ended(0, two);
  ended(4, one);
  CHECK_EQ(code_of(answers[1]), "lease_lost");
  CHECK_EQ(ids(std::get<claimed>(answers[3]).jobs), ids({get(answers[2])}));
  CHECK_EQ(state(get(answers[2])), "PROCESSING");
}

SCENARIO("ends are committed whatever becomes of the job beside them") {
  const auto done = run_outcome::completed;
  auto run = together({new_job()}, claim(1)).got.jobs.at(0);
  auto same_id = new_job();
  same_id.id = run.id;
  auto answers = store->apply(
    {{ending(run, done, verdict::complete)}, {claim(3)}, {same_id}});
  CHECK(std::holds_alternative<completed>(answers[0]));
  CHECK_EQ(code_of(answers[2]), "invalid_argument");
  REQUIRE(std::holds_alternative<claimed>(answers[1]));
  CHECK(std::get<claimed>(answers[1]).jobs.empty());
  CHECK_EQ(state(run), "COMPLETED");
  // Others are due: the claim takes them in their turn.
  run = together({new_job()}, claim(1)).got.jobs.at(0);
  auto older = add();
  answers = store->apply(
    {{ending(run, done, verdict::complete)}, {claim(1)}, {new_job()}});
  CHECK(std::holds_alternative<completed>(answers[0]));
  CHECK_EQ(ids(std::get<claimed>(answers[1]).jobs), ids({older}));
  CHECK_EQ(state(get(answers[2])), "PENDING");
  CHECK_EQ(state(run), "COMPLETED");
}

SCENARIO("an end and a start whose commit was in doubt are found again") {
  auto run = together({new_job()}, claim(1)).got.jobs.at(0);
  std::vector<write_entry> batch{
    {ending(run, run_outcome::completed, verdict::complete)},
    {claim(3)},
    {new_job()}};
  auto first = store->apply(batch);
  for (auto& x : batch)
    x.repeated = true;
  auto again = store->apply(batch);
  REQUIRE(std::holds_alternative<changed>(again[0]));
  CHECK_EQ(seen(std::get<changed>(again[0]).job), seen(now(run)));
  REQUIRE(std::holds_alternative<claimed>(again[1]));
  CHECK_EQ(ids(std::get<claimed>(again[1]).jobs),
           ids(std::get<claimed>(first[1]).jobs));
  CHECK_EQ(get(again[2]).id, get(first[2]).id);
  CHECK_EQ(now(get(first[2])).run, 1);
}

SCENARIO("a job that is refused takes no claim along") {
  auto wrong = new_job();
  wrong.type = "";
  auto answers = store->apply({{claim(3), false}, {wrong, false}});
  CHECK_EQ(code_of(answers[1]), "invalid_argument");
  REQUIRE(std::holds_alternative<claimed>(answers[0]));
  CHECK(std::get<claimed>(answers[0]).jobs.empty());
}

END_FIXTURE_SCOPE()

} // namespace conformance_start
