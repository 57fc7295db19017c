// tests/integration/persistence/conformance_claim.hpp -- how runs start.
// Included once by the suite of each store.
#include "conformance_fixture.hpp"

#include <set>
#include <thread>
#include <tuple>

namespace conformance_claim {

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("a claim starts a run") {
  auto x = add();
  auto running = start();
  CHECK_EQ(running.id, x.id);
  CHECK(running.status == job_status::processing);
  CHECK_EQ(running.attempts, 1u);
  CHECK_EQ(running.run, 1);
  CHECK_GT(running.version, x.version);
  CHECK(running.started_at.has_value());
  CHECK_EQ(seen(running), seen(now(x)));
  CHECK(get<claimed>(claim(1)).jobs.empty());
}

SCENARIO("a claim knows what a job has behind it") {
  auto wanted = new_job();
  wanted.max_attempts = 9;
  auto x = add(std::move(wanted));
  using enum run_outcome;
  for (auto [outcome, times] :
       {std::pair{throttled, 1}, {provider_down, 2}, {interrupted, 3}})
    for (int i = 0; i < times; ++i)
      settle(start(), outcome, verdict::retry_unspent);
  for (int i = 0; i < 4; ++i)
    settle(start(), failed, verdict::retry);
  auto paid = start();
  auto step = step_of(paid);
  step.step.used = {100, 20, 7};
  get<changed>(step);
  settle(paid, snoozed, verdict::retry_unspent);
  for (auto way : {"in a batch", "by itself"}) {
    MESSAGE(way);
    auto running = way == std::string{"in a batch"}
      ? start()
      : std::get<unread_claim_ptr>(store->claim(claim(1), false))
          ->read()
          .jobs.at(0);
    CHECK_EQ(running.id, x.id);
    CHECK_EQ(running.attempts, 5u);
    CHECK(running.unspent == (unspent_counts{1, 2, 3}));
    CHECK(running.used == (usage{100, 20, 7}));
    CHECK_EQ(seen(running), seen(now(x)));
    settle(running, snoozed, verdict::retry_unspent);
  }
}

SCENARIO("jobs are claimed by priority, then by due time, then by age") {
  const auto past = add().run_at - std::chrono::hours{1};
  complete(start());
  auto put = [&](int32_t priority, int minutes) {
    auto x = new_job();
    x.priority = priority;
    x.run_at = past + std::chrono::minutes{minutes};
    return add(x).id;
  };
  auto f = put(5, 0), c = put(0, 2), d = put(0, 2), b = put(0, 1),
       a = put(-1, 9), e = put(1'000, 0);
  std::vector<std::string> order;
  for (const auto& x : get<claimed>(claim(4)).jobs)
    order.push_back(x.id);
  for (const auto& x : get<claimed>(claim(4)).jobs)
    order.push_back(x.id);
  CHECK_EQ(order, (std::vector{a, b, c, d, f, e}));
}

SCENARIO("a job is not claimed before it is due") {
  auto x = new_job();
  auto nothing = get<claimed>(claim(1));
  CHECK(!nothing.next_due_in);
  CHECK(!nothing.more);
  const auto soon = add().created_at + std::chrono::hours{1};
  complete(start());
  x.run_at = soon;
  add(x);
  auto later = new_job();
  later.priority = -9;
  later.run_at = soon + std::chrono::hours{1};
  add(later);
  for (uint32_t limit : {0u, 5u}) {
    auto none = get<claimed>(claim(limit));
    CHECK(none.jobs.empty());
    REQUIRE(none.next_due_in.has_value());
    CHECK_LE(none.next_due_in->count(), 3'600'000);
    CHECK_GT(none.next_due_in->count(), 3'500'000);
    CHECK(!none.more);
  }
  auto farthest = new_job();
  farthest.run_at = timestamp{std::chrono::microseconds{253402300799999999}};
  CHECK(now(add(farthest)).run_at == farthest.run_at);
  farthest.id = make_uuid();
  farthest.run_at = timestamp::max();
  CHECK_EQ(refused(farthest), "invalid_argument");
}

SCENARIO("a claim takes at most its limit and says whether more is due") {
  for (int i = 0; i < 5; ++i)
    add();
  auto asked = get<claimed>(claim(0));
  CHECK(asked.jobs.empty());
  auto first = get<claimed>(claim(3));
  CHECK_EQ(first.jobs.size(), 3u);
  CHECK(first.more);
  auto second = get<claimed>(claim(3));
  CHECK_EQ(second.jobs.size(), 2u);
  CHECK(!second.more);
}

// -- by type ------------------------------------------------------------------

SCENARIO("only listed types are claimed, and of each at most its limit") {
  std::vector<job> a, b;
  for (int i = 0; i < 5; ++i) {
    a.push_back(add(new_job("A")));
    b.push_back(add(new_job("B")));
    add(new_job("C"));
  }
  auto claimed_by = [this](std::vector<claimable_type> types, uint32_t limit) {
    auto x = claim(limit);
    x.types = std::move(types);
    return get<claimed>(x);
  };
  auto ids = [](const claimed& x) {
    std::vector<std::string> result;
    for (const auto& running : x.jobs)
      result.push_back(running.id);
    return result;
  };
  using list = std::vector<std::string>;
  auto nothing = claimed_by({}, 10);
  CHECK_EQ(ids(nothing), list{});
  CHECK(!nothing.more);
  CHECK(!nothing.next_due_in);
  CHECK_EQ(ids(claimed_by({{"NONE", 9}, {"A", 0}}, 10)), list{});
  CHECK_EQ(ids(claimed_by({{"A", 9}, {"B", 1}}, 0)), list{});
  // In the order of the jobs, not of the types.
  CHECK_EQ(ids(claimed_by({{"B", 2}, {"A", 1}}, 10)),
           (list{a[0].id, b[0].id, b[1].id}));
  auto two = claimed_by({{"A", 9}, {"B", 9}}, 2);
  CHECK_EQ(ids(two), (list{a[1].id, a[2].id}));
  CHECK(two.more);
  // Also when the type's own limit was as large.
  CHECK(claimed_by({{"A", 1}}, 1).more);
  // A type's own limit is no reason to ask again at once.
  CHECK(!claimed_by({{"B", 1}}, 5).more);
  CHECK_EQ(claimed_by({{"A", 9}, {"B", 9}}, 100).jobs.size(), 3u);
  auto last = claimed_by({{"A", 9}, {"B", 9}}, 100);
  CHECK(last.jobs.empty());
  CHECK(!last.more);
  CHECK_EQ(backend.number("SELECT count(*) FROM queue WHERE job_type = 'C'"),
           5);
}

SCENARIO("a limit over all nodes counts the runs of all nodes") {
  for (int i = 0; i < 6; ++i) {
    add(new_job("A"));
    add(new_job("B"));
  }
  auto claimed_by = [this](const lease_owner& owner, uint32_t across) {
    return get<claimed>(
      claim_write{owner, {{"A", 10, across}}, 10, ms{30'000}, ++last_token});
  };
  CHECK_EQ(claimed_by(other, 1).jobs.size(), 1u);
  CHECK(claimed_by(me, 1).jobs.empty());
  // While one is running, two leave room for one.
  auto second = claimed_by(me, 2);
  REQUIRE_EQ(second.jobs.size(), 1u);
  CHECK(!second.more);
  auto none = claimed_by(me, 2);
  CHECK(none.jobs.empty());
  CHECK(!none.more);
  // Other types have their own limits, or none.
  auto x = claim(10);
  x.types = {{"A", 10, 2}, {"B", 4, 5}, {"B", 4, 9}};
  auto others = get<claimed>(x).jobs;
  CHECK_EQ(others.size(), 4u);
  for (const auto& one : others)
    CHECK_EQ(one.type, "B");
  // A run that ends makes room, in the same batch too.
  x.token = ++last_token;
  auto answers = store->apply(
    {{ending(second.jobs[0], run_outcome::completed, verdict::complete)}, {x}});
  CHECK_EQ(std::get<claimed>(answers[1]).jobs.size(), 2u);
  CHECK_EQ(claimed_by(me, 0).jobs.size(), 3u);
  CHECK_EQ(backend.number("SELECT count(*) FROM running"), 10);
}

SCENARIO("two thousand jobs are claimed at once, in order") {
  for (int i = 0; i < 2; ++i) {
    enqueue_batch_write batch;
    for (int n = 0; n < 1'050; ++n) {
      batch.jobs.push_back(new_job(n % 2 == 0 ? "A" : "B"));
      batch.jobs.back().priority = n % 3;
      batch.jobs.back().payload = {{"n", n}};
    }
    get<enqueued_batch>(batch);
  }
  auto got = get<claimed>(claim(2'000));
  CHECK(got.more);
  REQUIRE_EQ(got.jobs.size(), 2'000u);
  std::set<std::string> ids;
  for (size_t i = 0; i < got.jobs.size(); ++i) {
    const auto& x = got.jobs[i];
    ids.insert(x.id);
    if (i > 0) {
      const auto& before = got.jobs[i - 1];
      CHECK(std::tuple(before.priority, before.run_at, before.seq)
            < std::tuple(x.priority, x.run_at, x.seq));
    }
    if (i % 100 == 0)
      CHECK_EQ(seen(x), seen(now(x)));
  }
  CHECK_EQ(ids.size(), 2'000u);
  auto rest = get<claimed>(claim(2'000));
  CHECK_EQ(rest.jobs.size(), 100u);
  CHECK(!rest.more);
}

SCENARIO("priorities go before types") {
  auto put = [this](std::string type, int32_t priority) {
    auto x = new_job(std::move(type));
    x.priority = priority;
    return add(x).id;
  };
  auto e = put("A", 5), c = put("A", 0), d = put("B", 0), b = put("B", -1),
       a = put("B", -9);
  auto x = claim(4);
  x.types = {{"A", 4}, {"B", 4}};
  std::vector<std::string> order;
  for (const auto& running : get<claimed>(x).jobs)
    order.push_back(running.id);
  CHECK_EQ(order, (std::vector{a, b, c, d}));
  CHECK_EQ(start().id, e);
}

SCENARIO("jobs of a paused type stay until it is resumed") {
  auto soon = new_job("A");
  soon.run_at = add(new_job("A")).created_at + std::chrono::hours{1};
  add(soon);
  auto b = add(new_job("B"));
  get<done>(pause_write{"A", true, "wrong key"});
  auto first = get<claimed>(claim(10));
  REQUIRE_EQ(first.jobs.size(), 1u);
  CHECK_EQ(first.jobs[0].id, b.id);
  CHECK(!first.more);
  CHECK(!first.next_due_in);
  CHECK_EQ(first.paused, std::vector<std::string>{"A"});
  CHECK(!get<claimed>(claim(0)).more);
  // A pause and a claim in one batch: the pause goes first.
  add(new_job("B"));
  auto answers = store->apply({{claim(10)}, {pause_write{"B", true, ""}}});
  CHECK(std::get<claimed>(answers[0]).jobs.empty());
  get<done>(pause_write{"A", false, "ignored"});
  auto second = get<claimed>(claim(10));
  CHECK_EQ(second.jobs.size(), 1u);
  CHECK(second.next_due_in.has_value());
  CHECK_EQ(second.paused, std::vector<std::string>{"B"});
  // Of others it was not asked.
  auto other = claim(10);
  other.types = {{"A", 10}};
  CHECK(get<claimed>(other).paused.empty());
  CHECK_EQ(refused(pause_write{"", true, ""}), "invalid_argument");
  CHECK_EQ(refused(pause_write{"A", true, std::string("\0", 1)}),
           "invalid_argument");
}

SCENARIO("what is due next is asked of the listed types only") {
  auto put = [this](std::string type, std::chrono::minutes delay) {
    auto x = new_job(std::move(type));
    x.run_at = std::chrono::floor<std::chrono::microseconds>(
                 std::chrono::system_clock::now())
      + delay;
    x.priority = delay.count() % 2 == 0;
    add(x);
  };
  put("A", std::chrono::minutes{30});
  put("B", std::chrono::minutes{11});
  put("B", std::chrono::minutes{10});
  auto next = [this](std::vector<claimable_type> types) {
    auto x = claim(1);
    x.types = std::move(types);
    auto answer = get<claimed>(x);
    CHECK(answer.jobs.empty());
    return answer.next_due_in
      ? std::chrono::ceil<std::chrono::minutes>(*answer.next_due_in).count()
      : -1;
  };
  CHECK_EQ(next({{"A", 1}}), 30);
  CHECK_EQ(next({{"A", 1}, {"B", 1}}), 10);
  CHECK_EQ(next({{"C", 1}}), -1);
  CHECK_EQ(next({}), -1);
}

SCENARIO("a new job type needs no change of the schema") {
  add(new_job("SOMETHING_NEW", "any target"));
  auto x = claim(1);
  x.types = {{"SOMETHING_NEW", 1}};
  auto running = get<claimed>(x).jobs;
  REQUIRE_EQ(running.size(), 1u);
  CHECK(complete(running[0]).status == job_status::completed);
}

SCENARIO("a batch may claim what it adds") {
  auto answers = store->apply({{claim(5)}, {new_job()}, {new_job()}});
  CHECK_EQ(std::get<claimed>(answers[0]).jobs.size(), 2u);
}

SCENARIO("a repeated claim finds what the first one took") {
  for (int i = 0; i < 4; ++i)
    add();
  auto x = claim(2);
  auto first = get<claimed>(x);
  auto again = get<claimed>(x, true);
  REQUIRE_EQ(again.jobs.size(), 2u);
  for (size_t i = 0; i < 2; ++i)
    CHECK_EQ(seen(again.jobs[i]), seen(first.jobs[i]));
  // Nobody else's, and none of an earlier incarnation of the node.
  x.owner.incarnation += 1;
  CHECK_EQ(get<claimed>(x, true).jobs.size(), 2u);
  CHECK_EQ(backend.number("SELECT count(*) FROM queue"), 0);
}

SCENARIO("two claimers share the work, and no job is run twice") {
  constexpr size_t jobs = 600;
  enqueue_batch_write batch;
  for (size_t i = 0; i < jobs; ++i)
    batch.jobs.push_back(new_job());
  get<enqueued_batch>(batch);
  std::vector<std::vector<std::string>> taken(2);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < taken.size(); ++i)
    threads.emplace_back([&, i, connection = backend.connect()] {
      lease_owner owner{"claimer-" + std::to_string(i), 1};
      for (int64_t token = 1, empty = 0; empty < 3; ++token) {
        auto answers = connection->apply(
          {{claim_write{owner, every_type(), 7, ms{30'000}, token}}});
        auto& got = std::get<claimed>(answers.front()).jobs;
        for (const auto& x : got)
          taken[i].push_back(x.id);
        empty = got.empty() ? empty + 1 : 0;
      }
    });
  for (auto& x : threads)
    x.join();
  std::set<std::string> all;
  for (const auto& ids : taken)
    all.insert(ids.begin(), ids.end());
  CHECK_EQ(taken[0].size() + taken[1].size(), jobs);
  CHECK_EQ(all.size(), jobs);
}

SCENARIO("ten thousand waiting jobs are claimed and completed in batches") {
  constexpr size_t jobs = 10'000;
  for (size_t i = 0; i < jobs; i += 1'000) {
    enqueue_batch_write batch;
    for (size_t n = 0; n < 1'000; ++n)
      batch.jobs.push_back(new_job());
    get<enqueued_batch>(batch);
  }
  size_t done_jobs = 0;
  for (auto got = get<claimed>(claim(500)); !got.jobs.empty();
       got = get<claimed>(claim(500))) {
    std::vector<write_entry> writes;
    for (const auto& x : got.jobs)
      writes.push_back(
        {ending(x, run_outcome::completed, verdict::complete), false});
    for (const auto& x : store->apply(writes))
      done_jobs += std::holds_alternative<completed>(x);
  }
  CHECK_EQ(done_jobs, jobs);
  auto stats = store->stats();
  REQUIRE_EQ(stats.counts.size(), 1u);
  CHECK_EQ(stats.counts[0].count, static_cast<int64_t>(jobs));
}

SCENARIO("what a claim took may be read later") {
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i)
    ids.push_back(add().id);
  const auto what = claim(2);
  const auto taken = std::get<unread_claim_ptr>(store->claim(what, false));
  CHECK_EQ(taken->size(), 2u);
  CHECK(taken->count_by_type() == (std::map<std::string, size_t>{{"TEST", 2}}));
  // The connection is free for others meanwhile.
  ids.push_back(add().id);
  const auto found = taken->read();
  CHECK(found.more);
  REQUIRE_EQ(found.jobs.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    CHECK_EQ(found.jobs[i].id, ids[i]);
    CHECK_EQ(seen(found.jobs[i]), seen(now(found.jobs[i])));
  }
  AND("a second look finds the same, and takes no more") {
    const auto again =
      std::get<unread_claim_ptr>(store->claim(what, true))->read();
    REQUIRE_EQ(again.jobs.size(), 2u);
    CHECK_EQ(again.jobs[0].id, ids[0]);
    CHECK_EQ(again.jobs[1].id, ids[1]);
  }
  AND("the last claim tells of nothing more") {
    const auto last =
      std::get<unread_claim_ptr>(store->claim(claim(5), false))->read();
    CHECK_EQ(last.jobs.size(), 2u);
    CHECK(!last.more);
    CHECK(!last.next_due_in);
  }
}

SCENARIO("a claim of nobody is refused however it is made") {
  auto what = claim(1);
  what.owner.node.clear();
  const auto answer = store->claim(what, false);
  REQUIRE(std::holds_alternative<refusal>(answer));
  CHECK(std::get<refusal>(answer).code == refusal_code::invalid_argument);
}

END_FIXTURE_SCOPE()

} // namespace conformance_claim
