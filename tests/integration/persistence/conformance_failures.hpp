// tests/integration/persistence/conformance_failures.hpp -- failures in groups,
// and their retries. Included once by the suite of each store.
#include "conformance_fixture.hpp"

#include "persistence/fingerprint.hpp"

#include <map>
#include <set>
#include <thread>

namespace conformance_failures {

struct failure_fixture : fixture {
  job failing(const std::string& error, std::string type = "TEST") {
    add(new_job(std::move(type)));
    return fail_with(start(), error);
  }

  job fail_with(const job& running, const std::string& error) {
    auto wanted = ending(running, run_outcome::failed, verdict::fail);
    wanted.error = error;
    return get<changed>(wanted).job;
  }

  static failure_filter like(std::string pattern) {
    failure_filter result;
    result.error_like = std::move(pattern);
    return result;
  }

  // All pages; `between` is called after each.
  template <class F>
  std::vector<job> retry_all(bulk_retry_write x, F between) {
    std::vector<job> result;
    for (;;) {
      auto page = get<bulk_retried>(x);
      CHECK_LE(page.matched, x.limit);
      CHECK_LE(page.jobs.size(), page.matched);
      for (auto& retried : page.jobs)
        result.push_back(std::move(retried));
      matched += page.matched;
      if (!page.next_before_seq)
        return result;
      x.before_seq = page.next_before_seq;
      x.failed_until = page.failed_until;
      between();
    }
  }

  int64_t matched = 0;
};

BEGIN_FIXTURE_SCOPE(failure_fixture)

SCENARIO("failures that differ only in numbers are one group") {
  CHECK(store->error_groups({}, 10).empty());
  auto first = failing("Read timeout after 30 s, job 7", "B");
  failing("refused by http://127.0.0.1:1/x");
  auto last = failing("Read timeout after 31 s, job 12", "A");
  auto groups = store->error_groups({}, 10);
  REQUIRE_EQ(groups.size(), 2u);
  CHECK_EQ(groups[0].pattern, "Read timeout after <n> s, job <n>");
  CHECK_EQ(groups[0].fingerprint, fingerprint_of(*first.error_message));
  CHECK_EQ(groups[0].count, 2);
  CHECK_EQ(groups[0].types, (std::vector<std::string>{"A", "B"}));
  CHECK(groups[0].first_seen == *first.finished_at);
  CHECK(groups[0].last_seen == *last.finished_at);
  CHECK_EQ(groups[0].example_job_id, last.id);
  CHECK_EQ(groups[0].example_message, *last.error_message);
  CHECK_EQ(groups[1].pattern, "refused by <url>");
  CHECK_EQ(groups[1].count, 1);
  CHECK_EQ(store->error_groups({}, 1).size(), 1u);
  CHECK(store->error_groups({}, 0).empty());
}

SCENARIO("only jobs that are FAILED now are in a group") {
  for (auto status : {job_status::completed, job_status::cancelled})
    in_state(status);
  add();
  settle(start(), run_outcome::failed, verdict::retry);
  CHECK(store->error_groups({}, 10).empty());
  complete(start());
  auto x = failing("boom");
  CHECK_EQ(store->error_groups({}, 10).size(), 1u);
  get<changed>(retry_write{x.id});
  CHECK(store->error_groups({}, 10).empty());
  auto running = start();
  CHECK(store->error_groups({}, 10).empty());
  // It keeps its last error when it says nothing new.
  fail_with(running, "");
  auto groups = store->error_groups({}, 10);
  REQUIRE_EQ(groups.size(), 1u);
  CHECK_EQ(groups[0].pattern, "boom");
  get<changed>(retry_write{x.id});
  complete(start());
  CHECK(store->error_groups({}, 10).empty());
}

SCENARIO("a failure without a message is a group too") {
  auto x = failing("");
  CHECK(!x.error_message);
  auto groups = store->error_groups({}, 10);
  REQUIRE_EQ(groups.size(), 1u);
  CHECK_EQ(groups[0].fingerprint, fingerprint_of(""));
  CHECK_EQ(groups[0].pattern, "");
  CHECK_EQ(groups[0].example_message, "");
  failure_filter same;
  same.fingerprint = groups[0].fingerprint;
  CHECK_EQ(store->preview_failures(same).matched, 1);
}

SCENARIO("failures are found by type, error, fingerprint and time") {
  auto a = failing("Read Timeout 1", "A");
  auto b = failing("read timeout 2", "B");
  auto c = failing("100% refused", "A");
  auto found = [this](const failure_filter& filter) {
    auto preview = store->preview_failures(filter);
    CHECK_EQ(preview.matched, static_cast<int64_t>(preview.sample.size()));
    int64_t grouped = 0;
    for (const auto& group : store->error_groups(filter, 100))
      grouped += group.count;
    CHECK_EQ(grouped, preview.matched);
    std::vector<std::string> result;
    for (const auto& x : preview.sample) {
      CHECK_EQ(seen(x), seen(now(x)));
      result.push_back(x.id);
    }
    return result;
  };
  using list = std::vector<std::string>;
  failure_filter x;
  CHECK_EQ(found(x), (list{c.id, b.id, a.id}));
  x.type = "A";
  CHECK_EQ(found(x), (list{c.id, a.id}));
  x.error_like = "%Timeout%";
  CHECK_EQ(found(x), list{a.id});
  x.type = "B";
  CHECK_EQ(found(x), list{});
  CHECK_EQ(found(like("100\\%%")), list{c.id});
  CHECK_EQ(found(like("%\\")), list{});
  CHECK_EQ(found(like(std::string("%\0", 2))), list{});
  CHECK_EQ(found(like(std::string(60'000, '%'))), list{});
  x = {};
  x.fingerprint = fingerprint_of("Read Timeout 99");
  CHECK_EQ(found(x), list{a.id});
  x.fingerprint = "' OR 1=1";
  CHECK_EQ(found(x), list{});
  x = {};
  x.from = b.finished_at;
  CHECK_EQ(found(x), (list{c.id, b.id}));
  x.to = c.finished_at;
  CHECK_EQ(found(x), list{b.id});
  x.to = b.finished_at;
  CHECK_EQ(found(x), list{});
  x.from = timestamp::min();
  x.to = timestamp::max();
  CHECK_EQ(found(x), (list{c.id, b.id, a.id}));
}

SCENARIO("a preview counts all and shows the newest ten") {
  std::vector<std::string> ids;
  for (int i = 0; i < 23; ++i)
    ids.insert(ids.begin(), failing("boom " + std::to_string(i)).id);
  auto preview = store->preview_failures({});
  CHECK_EQ(preview.matched, 23);
  REQUIRE_EQ(preview.sample.size(), 10u);
  for (size_t i = 0; i < 10; ++i)
    CHECK_EQ(preview.sample[i].id, ids[i]);
}

// -- bulk retries -------------------------------------------------------------

SCENARIO("a bulk retry retries what its preview found") {
  auto a = failing("Timeout");
  failing("refused");
  in_state(job_status::cancelled);
  auto b = failing("Timeout");
  const auto preview = store->preview_failures(like("Time%")).matched;
  auto answer = get<bulk_retried>(bulk_retry_write{like("Time%"), {}, {}, 500});
  CHECK_EQ(answer.matched, preview);
  CHECK(!answer.next_before_seq);
  CHECK(answer.failed_until >= *b.finished_at);
  REQUIRE_EQ(answer.jobs.size(), 2u);
  CHECK_EQ(answer.jobs[0].id, b.id);
  CHECK_EQ(answer.jobs[1].id, a.id);
  for (const auto& x : answer.jobs) {
    CHECK(x.status == job_status::pending);
    CHECK_EQ(x.reason, "retry requested");
    CHECK_EQ(x.attempts, 0u);
    CHECK_EQ(seen(x), seen(now(x)));
  }
  CHECK_EQ(store->preview_failures(like("Time%")).matched, 0);
  answer = get<bulk_retried>(bulk_retry_write{like("Time%"), {}, {}, 500});
  CHECK_EQ(answer.matched, 0u);
  CHECK(answer.jobs.empty());
  CHECK_EQ(get<claimed>(claim(10)).jobs.size(), 2u);
}

SCENARIO("a bulk retry of nothing, or by an impossible pattern, is no error") {
  for (const auto& filter : {failure_filter{}, like("%\\"), like("\xff")}) {
    auto answer = get<bulk_retried>(bulk_retry_write{filter, {}, {}, 10});
    CHECK_EQ(answer.matched, 0u);
    CHECK(!answer.next_before_seq);
  }
  failing("boom");
  auto answer = get<bulk_retried>(bulk_retry_write{{}, {}, {}, 0});
  CHECK_EQ(answer.matched, 0u);
  CHECK(answer.jobs.empty());
}

SCENARIO("pages retry each job once, even one that fails again meanwhile") {
  for (int i = 0; i < 25; ++i)
    failing("boom");
  std::map<std::string, int> runs;
  auto retried = retry_all(bulk_retry_write{{}, {}, {}, 10}, [&] {
    // All that came back fail once more before the next page is asked for.
    for (const auto& x : get<claimed>(claim(100)).jobs)
      fail_with(x, "boom again");
    // And what fails for the first time only now came too late.
    failing("late boom");
  });
  for (const auto& x : retried)
    ++runs[x.id];
  CHECK_EQ(retried.size(), 25u);
  CHECK_EQ(runs.size(), 25u);
  CHECK_EQ(matched, 25);
}

SCENARIO("a page ends where it says") {
  std::vector<job> jobs;
  for (int i = 0; i < 4; ++i)
    jobs.push_back(failing("boom"));
  auto page = get<bulk_retried>(bulk_retry_write{{}, {}, {}, 3});
  CHECK_EQ(page.matched, 3u);
  CHECK(page.next_before_seq == jobs[1].seq);
  CHECK_EQ(state(jobs[0]), "FAILED");
  // `failed_until` includes its instant.
  bulk_retry_write x{{}, page.next_before_seq, jobs[0].finished_at, 3};
  x.failed_until = *x.failed_until - std::chrono::microseconds{1};
  CHECK_EQ(get<bulk_retried>(x).matched, 0u);
  x.failed_until = jobs[0].finished_at;
  page = get<bulk_retried>(x);
  CHECK_EQ(page.jobs.size(), 1u);
  CHECK(page.failed_until == *jobs[0].finished_at);
}

SCENARIO("a bulk retry passes over unique keys that are held") {
  auto keyed = new_job();
  keyed.unique_key = "key";
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    keyed.id = make_uuid();
    add(keyed);
    ids.push_back(fail(start()).id);
  }
  auto free = failing("boom");
  auto answer = get<bulk_retried>(bulk_retry_write{{}, {}, {}, 500});
  CHECK_EQ(answer.matched, 4u);
  REQUIRE_EQ(answer.jobs.size(), 2u);
  CHECK_EQ(answer.jobs[0].id, free.id);
  // The newest of them has the key now.
  CHECK_EQ(answer.jobs[1].id, ids[2]);
  answer = get<bulk_retried>(bulk_retry_write{{}, {}, {}, 500});
  CHECK_EQ(answer.matched, 2u);
  CHECK(answer.jobs.empty());
}

SCENARIO("two bulk retries at once retry each job once") {
  constexpr size_t jobs = 200;
  enqueue_batch_write batch;
  for (size_t i = 0; i < jobs; ++i)
    batch.jobs.push_back(new_job());
  get<enqueued_batch>(batch);
  for (const auto& x : get<claimed>(claim(jobs)).jobs)
    fail(x);
  std::vector<std::vector<std::string>> taken(2);
  std::vector<std::thread> threads;
  for (auto& mine : taken)
    threads.emplace_back([&mine, connection = backend.connect()] {
      bulk_retry_write x{{}, {}, {}, 30};
      do {
        auto answers = connection->apply({{x}});
        auto& page = std::get<bulk_retried>(answers.front());
        for (const auto& retried : page.jobs)
          mine.push_back(retried.id);
        x.before_seq = page.next_before_seq;
        x.failed_until = page.failed_until;
      } while (x.before_seq);
    });
  for (auto& x : threads)
    x.join();
  std::set<std::string> all{taken[0].begin(), taken[0].end()};
  all.insert(taken[1].begin(), taken[1].end());
  CHECK_EQ(all.size(), jobs);
  CHECK_EQ(taken[0].size() + taken[1].size(), jobs);
  CHECK_EQ(backend.number("SELECT count(*) FROM queue"),
           static_cast<int64_t>(jobs));
}

END_FIXTURE_SCOPE()

} // namespace conformance_failures
