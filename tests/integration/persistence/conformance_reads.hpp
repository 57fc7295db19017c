// tests/integration/persistence/conformance_reads.hpp -- listings, statistics
// and times. Included once by the suite of each store.
#include "conformance_fixture.hpp"

#include <map>

namespace conformance_reads {

constexpr auto any = std::nullopt;

inline job_filter filter(std::optional<job_status> status,
                         std::optional<std::string> type = any,
                         std::optional<std::string> target_id = any,
                         std::optional<std::string> user_id = any,
                         std::optional<std::string> error_like = any) {
  job_filter result;
  result.status = status;
  result.type = std::move(type);
  result.target_id = std::move(target_id);
  result.user_id = std::move(user_id);
  result.error_like = std::move(error_like);
  return result;
}

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("listings are newest first and page by key") {
  std::vector<std::string> ids;
  for (int i = 0; i < 7; ++i)
    ids.insert(ids.begin(), add().id);
  std::vector<std::string> paged;
  job_filter filter;
  filter.limit = 3;
  for (;;) {
    auto page = store->list_jobs(filter);
    if (page.empty())
      break;
    CHECK_LE(page.size(), 3u);
    for (const auto& x : page)
      paged.push_back(x.id);
    filter.before_seq = page.back().seq;
    add(); // what comes in meanwhile moves no page
  }
  CHECK_EQ(paged, ids);
  filter.limit = 0;
  CHECK(store->list_jobs(filter).empty());
}

SCENARIO("listings filter by status, type, target and user") {
  std::map<job_status, std::string> by_status;
  for (auto status : {job_status::processing, job_status::completed,
                      job_status::failed, job_status::cancelled})
    by_status[status] = in_state(status).id;
  auto waiting = new_job("OTHER", "target-2");
  waiting.user_id = "user";
  by_status[job_status::pending] = add(waiting).id;
  auto ids = [this](job_filter filter) {
    std::vector<std::string> result;
    for (const auto& x : store->list_jobs(filter)) {
      CHECK_EQ(seen(x), seen(now(x)));
      result.push_back(x.id);
    }
    return result;
  };
  using list = std::vector<std::string>;
  for (const auto& [status, id] : by_status) {
    CHECK_EQ(ids(filter(status)), list{id});
    const auto target = status == job_status::pending ? "target-2" : "target";
    CHECK_EQ(ids(filter(status, any, target)), list{id});
    CHECK_EQ(ids(filter(status, "NONE")), list{});
  }
  const auto newest = by_status[job_status::pending];
  CHECK_EQ(ids(filter(any, "OTHER")), list{newest});
  CHECK_EQ(ids(filter(any, "TEST")).size(), 4u);
  CHECK_EQ(ids(filter(any, any, "target-2")), list{newest});
  CHECK_EQ(ids(filter(any, any, any, "user")), list{newest});
  CHECK_EQ(ids(filter(job_status::pending, any, any, "user")), list{newest});
  CHECK_EQ(ids(filter(job_status::failed, any, any, "user")), list{});
  CHECK_EQ(ids(filter(any, "' OR '1'='1")), list{});
  CHECK_EQ(ids(filter(any, std::string("OTHER\0", 6))), list{});
  CHECK_EQ(ids(filter(any, any, "\xff")), list{});
}

SCENARIO("errors are found by an SQL LIKE pattern") {
  auto failing = [this](const std::string& error) {
    add();
    auto wanted = ending(start(), run_outcome::failed, verdict::fail);
    wanted.error = error;
    get<changed>(wanted);
  };
  for (auto error : {"Read Timeout after 30 s", "read timeout", "100% of it",
                     "a_b", "axb", "back\\slash", "시간 초과", "line\nbreak"})
    failing(error);
  auto found = [this](const std::string& pattern) {
    return store->list_jobs(filter(any, any, any, any, pattern)).size();
  };
  const std::vector<std::pair<std::string, size_t>> table{
    {"%Timeout%", 1},
    {"%timeout%", 1},
    {"%TIMEOUT%", 0},
    {"%imeout%", 2},
    {"Read%", 1},
    {"Read Timeout", 0},
    {"%", 8},
    {"", 0},
    {"%\\%%", 1},
    {"%100\\%%", 1},
    {"a_b", 2},
    {"a\\_b", 1},
    {"___", 2},
    {"back\\\\%", 1},
    {"back\\slash", 0},
    {"%\\s%", 2},
    {"시간%", 1},
    {"시_ 초과", 1},
    {"line%break", 1},
    {"line_break", 1},
    {"%[a-z]%", 0},
    {"%*%", 0},
    {"%'%", 0},
    {"%\\", 0},
    {"\\", 0},
    {"%%%%%i%%%%", 4},
    {"Read Timeout after 30 _", 1},
    {std::string("%\0", 2), 0},
    {"%\xff%", 0},
  };
  for (const auto& [pattern, count] : table) {
    if (found(pattern) != count)
      MESSAGE("pattern " << pattern << " finds " << found(pattern));
    CHECK_EQ(found(pattern), count);
  }
  CHECK_EQ(found(std::string(60'000, '%')), 0u);
  CHECK_EQ(
    store->list_jobs(filter(job_status::failed, "TEST", any, any, "%Timeout%"))
      .size(),
    1u);
}

SCENARIO("people find failures in the view") {
  add(new_job("CARD_ANALYSIS", "scrap-1"));
  auto wanted = ending(start(), run_outcome::failed, verdict::fail);
  wanted.error = "Read Timeout";
  get<changed>(wanted);
  add();
  CHECK_EQ(backend.number("SELECT count(target_id) FROM jobs WHERE "
                          "status = 'FAILED' AND error_message LIKE "
                          "'%Timeout%'"),
           1);
  CHECK_EQ(backend.number("SELECT count(*) FROM jobs WHERE status = 'PENDING'"),
           1);
}

SCENARIO("statistics count jobs by type and status") {
  auto counts = [this] {
    std::map<std::string, int64_t> result;
    for (const auto& x : store->stats().counts)
      result[x.type + " " + std::string{to_string(x.status)}] = x.count;
    return result;
  };
  CHECK(counts().empty());
  CHECK(!store->stats().oldest_due_age);
  for (auto status : {job_status::completed, job_status::completed,
                      job_status::failed, job_status::cancelled})
    in_state(status);
  add(new_job("OTHER"));
  start();
  add();
  add();
  using map = std::map<std::string, int64_t>;
  CHECK_EQ(counts(),
           (map{{"TEST COMPLETED", 2},
                {"TEST FAILED", 1},
                {"TEST CANCELLED", 1},
                {"OTHER PROCESSING", 1},
                {"TEST PENDING", 2}}));
  job_filter filter;
  filter.status = job_status::failed;
  get<changed>(retry_write{store->list_jobs(filter).front().id});
  CHECK_EQ(counts(),
           (map{{"TEST COMPLETED", 2},
                {"TEST CANCELLED", 1},
                {"OTHER PROCESSING", 1},
                {"TEST PENDING", 3}}));
}

SCENARIO("the age of the oldest due job is known") {
  auto x = new_job();
  x.run_at = add().created_at + std::chrono::hours{1};
  start();
  add(x);
  CHECK(!store->stats().oldest_due_age);
  x.id = make_uuid();
  *x.run_at -= std::chrono::hours{2};
  add(x);
  auto age = store->stats().oldest_due_age;
  REQUIRE(age.has_value());
  CHECK_GE(age->count(), 3'600'000);
  CHECK_LT(age->count(), 3'700'000);
}

// -- what keeps a job waiting -------------------------------------------------

SCENARIO("a job's facts say how many are claimed before it") {
  auto put = [this](std::string type, int32_t priority, int minutes = 0) {
    auto x = new_job(std::move(type));
    x.priority = priority;
    if (minutes != 0)
      x.run_at = std::chrono::floor<std::chrono::microseconds>(
                   std::chrono::system_clock::now())
        + std::chrono::minutes{minutes};
    return add(x);
  };
  auto ahead = [this](const job& x) {
    auto facts = store->facts_about(x.id);
    REQUIRE(facts.has_value());
    CHECK_EQ(seen(facts->job), seen(now(x)));
    CHECK(facts->now >= x.created_at);
    CHECK(!facts->pause);
    return facts->ahead;
  };
  auto running = put("A", 0);
  start();
  auto first = put("A", 0), other = put("B", 0), urgent = put("B", -1),
       last = put("A", 0), slow = put("A", 7), early = put("B", 0, -5);
  put("A", -9, 60);
  CHECK_EQ(ahead(running), 0);
  CHECK_EQ(ahead(urgent), 0);
  CHECK_EQ(ahead(early), 1);
  CHECK_EQ(ahead(first), 2);
  CHECK_EQ(ahead(other), 3);
  CHECK_EQ(ahead(last), 4);
  CHECK_EQ(ahead(slow), 5);
  // Not due yet: what is due and goes first is ahead of it all the same.
  CHECK_EQ(ahead(put("A", 0, 30)), 5);
  get<done>(pause_write{"B", true, "the key is wrong"});
  CHECK_EQ(ahead(slow), 2);
  auto facts = store->facts_about(other.id);
  REQUIRE(facts && facts->pause);
  CHECK_EQ(facts->pause->type, "B");
  CHECK_EQ(facts->pause->reason, "the key is wrong");
  CHECK(facts->pause->since <= facts->now);
  CHECK(!store->facts_about(make_uuid()));
  CHECK(!store->facts_about("no-uuid"));
}

SCENARIO("jobs ahead are counted up to ten thousand") {
  for (int n = 0; n < 11; ++n) {
    enqueue_batch_write batch;
    for (int i = 0; i < 1'000; ++i) {
      batch.jobs.push_back(new_job(i % 2 == 0 ? "A" : "B"));
      batch.jobs.back().priority = i % 3;
    }
    get<enqueued_batch>(batch);
  }
  auto x = new_job();
  x.priority = 3;
  CHECK_EQ(store->facts_about(add(x).id)->ahead, 10'000);
}

SCENARIO("the types that were paused are listed with their state") {
  CHECK(store->type_states().empty());
  get<done>(pause_write{"b", true, "slow"});
  get<done>(pause_write{"B", true, "wrong key"});
  get<done>(pause_write{"A", false, "ignored"});
  auto states = store->type_states();
  REQUIRE_EQ(states.size(), 3u);
  CHECK_EQ(states[0].type, "A");
  CHECK(!states[0].paused);
  CHECK_EQ(states[0].reason, "");
  CHECK_EQ(states[1].type, "B");
  CHECK(states[1].paused);
  CHECK_EQ(states[1].reason, "wrong key");
  const auto since = states[1].since;
  // Said again: another reason, but paused since then.
  get<done>(pause_write{"B", true, "spent money"});
  states = store->type_states();
  CHECK_EQ(states[1].reason, "spent money");
  CHECK(states[1].since == since);
  get<done>(pause_write{"B", false, ""});
  states = store->type_states();
  CHECK(!states[1].paused);
  CHECK_EQ(states[1].reason, "");
  CHECK(states[1].since > since);
}

SCENARIO("times are the present, in microseconds") {
  const auto before = std::chrono::system_clock::now();
  auto x = complete([this] {
    add();
    return start();
  }());
  const auto after = std::chrono::system_clock::now();
  const auto slack = std::chrono::milliseconds{5};
  for (auto t :
       {x.created_at, *x.started_at, *x.finished_at, x.updated_at, x.run_at}) {
    CHECK(t >= before - slack);
    CHECK(t <= after + slack);
  }
  auto exact = new_job();
  exact.run_at = timestamp{std::chrono::microseconds{1'700'000'000'123'457}};
  CHECK(now(add(exact)).run_at == *exact.run_at);
  exact.id = make_uuid();
  exact.run_at = timestamp{std::chrono::microseconds{-1'000'001}};
  CHECK(now(add(exact)).run_at == *exact.run_at);
}

SCENARIO("attempts of an unknown job are none") {
  CHECK(store->attempts_of(make_uuid()).empty());
  CHECK(store->attempts_of("no-uuid").empty());
}

SCENARIO("a store answers, before and after a reconnect") {
  auto x = add();
  store->ping();
  store->reconnect();
  store->ping();
  CHECK_EQ(seen(now(x)), seen(x));
  CHECK_EQ(start().id, x.id);
  CHECK(store->apply({}).empty());
}

SCENARIO("another connection sees what was committed") {
  auto reader = backend.connect();
  auto x = add();
  CHECK(reader->find_job(x.id).has_value());
  auto running = start();
  CHECK_EQ(seen(*reader->find_job(x.id)), seen(running));
  auto completed = complete(running);
  CHECK_EQ(seen(completed), seen(*reader->find_job(x.id)));
}

END_FIXTURE_SCOPE()

} // namespace conformance_reads
