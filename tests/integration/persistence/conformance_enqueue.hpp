// tests/integration/persistence/conformance_enqueue.hpp -- how jobs come in.
// Included once by the suite of each store.
#include "conformance_fixture.hpp"

#include <barrier>
#include <thread>

namespace conformance_enqueue {

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("an enqueued job is PENDING and found again") {
  auto x = new_job("CARD_ANALYSIS", "target-1");
  x.user_id = "user-1";
  x.payload = {{"key", "value"}};
  x.priority = -7;
  x.max_attempts = 5;
  x.unique_key = "unique";
  auto answer = get<enqueued>(x);
  CHECK(answer.kind == enqueue_kind::created);
  CHECK(!answer.scrap_id);
  CHECK_EQ(seen(answer.job), seen(now(answer.job)));
  CHECK_EQ(answer.job.id, x.id);
  CHECK_EQ(answer.job.type, "CARD_ANALYSIS");
  CHECK(answer.job.status == job_status::pending);
  CHECK_EQ(answer.job.target_id, "target-1");
  CHECK(answer.job.user_id == "user-1");
  CHECK(answer.job.payload == x.payload);
  CHECK_EQ(answer.job.priority, -7);
  CHECK_EQ(answer.job.max_attempts, 5u);
  CHECK(answer.job.unique_key == "unique");
  CHECK_EQ(answer.job.attempts, 0u);
  CHECK_EQ(answer.job.run, 0);
  CHECK_EQ(answer.job.version, 1);
  CHECK_EQ(answer.job.reason, "");
  CHECK(answer.job.result.is_null());
  CHECK(!answer.job.error_message);
  CHECK(!answer.job.started_at);
  CHECK(!answer.job.finished_at);
  CHECK(answer.job.run_at == answer.job.created_at);
}

SCENARIO("a job keeps the trace that it came with") {
  const trace_context trace{
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "congo=t61"};
  auto x = new_job();
  x.trace = trace;
  x.max_attempts = 1;
  auto bare = new_job();
  bare.trace.parent = trace.parent;
  const auto answers = store->apply({{x}, {bare}, {new_job()}});
  const auto added = std::get<enqueued>(answers[0]).job;
  CHECK_EQ(added.trace, trace);
  CHECK_EQ(now(added).trace, trace);
  CHECK_EQ(now(std::get<enqueued>(answers[1]).job).trace,
           (trace_context{trace.parent, ""}));
  CHECK_EQ(now(std::get<enqueued>(answers[2]).job).trace, trace_context{});
  CHECK_EQ(backend.number("SELECT count(*) FROM jobs"
                          " WHERE traceparent IS NULL AND tracestate IS NULL"),
           1);
  auto running = start();
  CHECK_EQ(running.id, added.id);
  CHECK_EQ(running.trace, trace);
  const auto over =
    ending(running, run_outcome::failed_permanently, verdict::fail);
  CHECK_EQ(get<changed>(over).job.trace, trace);
  CHECK_EQ(get<changed>(retry_write{added.id}).job.trace, trace);
  CHECK_EQ(now(added).trace, trace);
}

SCENARIO("a trace that nobody could have read is refused") {
  for (const trace_context& bad :
       {trace_context{"by hand", ""}, trace_context{"", "congo=t61"},
        trace_context{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                      "congo"}}) {
    auto x = new_job();
    x.trace = bad;
    CHECK_EQ(refused(x), "invalid_argument");
  }
}

SCENARIO("a job that takes another one's place has that one's trace") {
  auto x = new_job();
  x.unique_key = "key";
  x.trace.parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  auto y = new_job();
  y.unique_key = "key";
  y.trace.parent = "00-11111111111111111111111111111111-00f067aa0ba902b7-01";
  get<enqueued>(x);
  CHECK_EQ(get<enqueued>(y).job.trace, x.trace);
}

SCENARIO("a priority is within plus and minus 1,000") {
  for (int32_t priority : {-1'001, 1'001, 2'000'000'000}) {
    auto x = new_job();
    x.priority = priority;
    const auto no = answer(x);
    CHECK_EQ(code_of(no), "invalid_argument");
    CHECK(message_of(no).find("priority") != std::string::npos);
  }
  for (int32_t priority : {-1'000, 1'000}) {
    auto x = new_job();
    x.priority = priority;
    CHECK_EQ(add(x).priority, priority);
  }
}

SCENARIO("ids are found in either case, and only ids") {
  auto x = add();
  std::string upper;
  for (char c : x.id)
    upper += static_cast<char>(std::toupper(c));
  CHECK(store->find_job(upper).has_value());
  CHECK(!store->find_job(make_uuid()));
  for (std::string id : {"", "x", "' OR 1=1 --", "\xff"})
    CHECK(!store->find_job(id));
  CHECK(!store->find_job(x.id + " "));
  CHECK(!store->find_job("{" + x.id + "}"));
}

SCENARIO("a value no store can keep is refused and named") {
  auto bad = [this](auto change, std::string_view name) {
    auto x = new_job();
    change(x);
    auto result = answer(x);
    CHECK_EQ(code_of(result), "invalid_argument");
    if (message_of(result).find(name) == std::string::npos)
      FAIL("`" << message_of(result) << "` does not name "
               << std::string{name});
  };
  const std::string nul("a\0b", 3);
  const std::string broken = "a\xC3(";
  bad([](auto& x) { x.type = ""; }, "type");
  bad([&](auto& x) { x.type = nul; }, "type");
  bad([](auto& x) { x.target_id = ""; }, "target_id");
  bad([&](auto& x) { x.target_id = broken; }, "target_id");
  bad([&](auto& x) { x.user_id = nul; }, "user_id");
  bad([&](auto& x) { x.unique_key = broken; }, "unique_key");
  bad([&](auto& x) { x.idempotency_key = nul; }, "idempotency_key");
  bad([&](auto& x) { x.payload = {{"k", nul}}; }, "payload");
  bad(
    [&](auto& x) {
      x.payload = {{"k", {1, {{"deep", broken}}}}};
    },
    "payload");
  bad([&](auto& x) { x.payload = {{nul, 1}}; }, "payload");
  bad([&](auto& x) { x.payload = {{"k", "\xED\xA0\x80"}}; }, "payload");
  bad([](auto& x) { x.max_attempts = 0; }, "max_attempts");
  bad([](auto& x) { x.id = "no-uuid"; }, "id");
  CHECK_EQ(backend.number("SELECT count(*) FROM job"), 0);
}

SCENARIO("a refused scrap leaves neither scrap nor job") {
  auto x = new_scrap_job();
  x.new_scrap->content = std::string("\0", 1);
  CHECK_EQ(refused(x), "invalid_argument");
  auto first = new_scrap_job();
  add(first);
  auto same_scrap = new_scrap_job();
  same_scrap.target_id = first.target_id;
  same_scrap.new_scrap->id = first.target_id;
  CHECK_EQ(refused(same_scrap), "invalid_argument");
  CHECK_EQ(backend.number("SELECT count(*) FROM job"), 1);
  CHECK_EQ(backend.number("SELECT count(*) FROM scraps"), 1);
}

SCENARIO("JSON comes back as it was sent") {
  auto keeps = [this](const nlohmann::json& value) {
    auto x = new_job();
    x.payload = value;
    const auto found = now(add(x)).payload.value();
    if (found != value)
      FAIL(value.dump() << " came back as " << found.dump());
  };
  keeps({});
  keeps({{"nested", {{"list", {1, "two", nullptr, true, {{"x", {}}}}}}}});
  keeps({{"한글", "가나다 🦉 \u2028 \\ \" / \t\n\r\x01\x7f"}});
  keeps({{"zero", -0.0}, {"tenth", 0.1}, {"tiny", 5e-324}, {"huge", 1.7e308}});
  keeps({{"max", std::numeric_limits<int64_t>::max()},
         {"min", std::numeric_limits<int64_t>::min()},
         {"unsigned", std::numeric_limits<uint64_t>::max()}});
  keeps({{"", ""}, {"empty", {{"list", nlohmann::json::array()}}}});
  keeps(nlohmann::json::array({1, 2, 3}));
  keeps("just a text");
}

SCENARIO("a payload of 1 MB comes back byte for byte") {
  std::string big;
  for (size_t i = 0; big.size() < 1'000'000; ++i)
    big += "블록 " + std::to_string(i) + " \"quoted\"\\ ";
  auto x = new_job();
  x.payload = {{"big", big}};
  add(x);
  auto claimed_job = start();
  CHECK(claimed_job.payload->at("big").get_ref<const std::string&>() == big);
}

SCENARIO("one unfinished job holds a unique key") {
  auto x = new_job();
  x.unique_key = "key";
  auto first = get<enqueued>(x);
  x.id = make_uuid();
  auto second = get<enqueued>(x);
  CHECK(second.kind == enqueue_kind::deduplicated);
  CHECK_EQ(second.job.id, first.job.id);
  auto running = start();
  x.id = make_uuid();
  CHECK(get<enqueued>(x).kind == enqueue_kind::deduplicated);
  complete(running);
  x.id = make_uuid();
  CHECK(get<enqueued>(x).kind == enqueue_kind::created);
}

SCENARIO("an idempotency key gives its job for ever") {
  auto x = new_scrap_job();
  x.idempotency_key = "key";
  x.idempotency_hash = "hash";
  auto first = get<enqueued>(x);
  CHECK(first.scrap_id == x.target_id);
  complete(start());
  auto again = new_scrap_job();
  again.idempotency_key = "key";
  again.idempotency_hash = "hash";
  auto second = get<enqueued>(again);
  CHECK(second.kind == enqueue_kind::replayed);
  CHECK_EQ(second.job.id, first.job.id);
  CHECK(second.job.status == job_status::completed);
  CHECK(second.scrap_id == x.target_id);
  CHECK(!store->find_scrap(again.target_id));
  again.id = make_uuid();
  again.idempotency_hash = "another request";
  CHECK_EQ(refused(again), "key_reused");
}

SCENARIO("keys hold within one batch of writes") {
  auto unique = new_job(), twin = new_job();
  unique.unique_key = twin.unique_key = "u";
  auto request = new_job(), replay = new_job(), misuse = new_job();
  request.idempotency_key = replay.idempotency_key = "i";
  request.idempotency_hash = replay.idempotency_hash = "hash";
  misuse.idempotency_key = "i";
  misuse.idempotency_hash = "other";
  auto answers = store->apply(
    {{unique}, {twin}, {request}, {replay}, {misuse}, {new_job()}});
  REQUIRE_EQ(answers.size(), 6u);
  auto kind = [&](size_t i) { return std::get<enqueued>(answers[i]).kind; };
  auto id = [&](size_t i) { return std::get<enqueued>(answers[i]).job.id; };
  CHECK(kind(0) == enqueue_kind::created);
  CHECK(kind(1) == enqueue_kind::deduplicated);
  CHECK_EQ(id(1), id(0));
  CHECK(kind(2) == enqueue_kind::created);
  CHECK(kind(3) == enqueue_kind::replayed);
  CHECK_EQ(id(3), id(2));
  CHECK_EQ(code_of(answers[4]), "key_reused");
  CHECK(kind(5) == enqueue_kind::created);
}

SCENARIO("of many at once with one key, one is created") {
  constexpr size_t clients = 4;
  constexpr int rounds = 25;
  std::vector<std::unique_ptr<job_store>> stores;
  for (size_t i = 0; i < clients; ++i)
    stores.push_back(backend.connect());
  std::vector<std::vector<enqueued>> answers(clients);
  std::barrier start_line{clients};
  std::vector<std::thread> threads;
  for (size_t client = 0; client < clients; ++client)
    threads.emplace_back([&, client] {
      for (int round = 0; round < rounds; ++round) {
        auto unique = new_job(), request = new_job();
        unique.unique_key = "u" + std::to_string(round);
        request.idempotency_key = "i" + std::to_string(round);
        request.idempotency_hash = "hash";
        start_line.arrive_and_wait();
        for (auto& x : stores[client]->apply({{unique}, {request}}))
          if (auto* ok = std::get_if<enqueued>(&x))
            answers[client].push_back(*ok);
      }
    });
  for (auto& x : threads)
    x.join();
  for (size_t i = 0; i < 2 * rounds; ++i) {
    size_t created = 0;
    for (const auto& x : answers) {
      REQUIRE_EQ(x.size(), 2u * rounds);
      created += x[i].kind == enqueue_kind::created;
      CHECK_EQ(x[i].job.id, answers[0][i].job.id);
    }
    CHECK_EQ(created, 1u);
  }
  CHECK_EQ(backend.number("SELECT count(*) FROM job"), 2 * rounds);
}

SCENARIO("a batch of jobs comes in as a whole or not at all") {
  enqueue_batch_write x;
  for (int i = 0; i < 3; ++i)
    x.jobs.push_back(new_job("TEST", std::to_string(i)));
  x.jobs.push_back(new_scrap_job());
  auto answer = get<enqueued_batch>(x);
  REQUIRE_EQ(answer.jobs.size(), 4u);
  for (size_t i = 0; i < 4; ++i)
    CHECK_EQ(answer.jobs[i].job.id, x.jobs[i].id);
  CHECK(answer.jobs[3].scrap_id == x.jobs[3].target_id);

  for (auto& member : x.jobs)
    member = new_scrap_job();
  x.jobs[2].payload = {{"k", "\xff"}};
  auto no = this->answer(x);
  CHECK_EQ(code_of(no), "invalid_argument");
  CHECK(message_of(no).find('2') != std::string::npos);

  x.jobs[2] = new_job();
  x.jobs[2].id = answer.jobs[0].job.id;
  no = this->answer(x);
  CHECK_EQ(code_of(no), "invalid_argument");
  CHECK_EQ(backend.number("SELECT count(*) FROM job"), 4);
  CHECK_EQ(backend.number("SELECT count(*) FROM scraps"), 1);
  CHECK(get<enqueued_batch>(enqueue_batch_write{}).jobs.empty());
}

SCENARIO("a bad write among good ones fails alone") {
  auto first = new_job(), twin = new_job(), last = new_scrap_job();
  twin.id = first.id;
  auto broken = new_job();
  broken.payload = {{"k", std::string("\0", 1)}};
  auto answers = store->apply(
    {{first}, {twin}, {broken}, {cancel_write{make_uuid()}}, {last}});
  REQUIRE_EQ(answers.size(), 5u);
  CHECK_EQ(code_of(answers[0]), "accepted");
  CHECK_EQ(code_of(answers[1]), "invalid_argument");
  CHECK_EQ(code_of(answers[2]), "invalid_argument");
  CHECK_EQ(code_of(answers[3]), "not_found");
  CHECK_EQ(code_of(answers[4]), "accepted");
  CHECK_EQ(backend.number("SELECT count(*) FROM job"), 2);
}

SCENARIO("a repeated enqueue gives the first answer") {
  auto x = new_scrap_job();
  x.unique_key = "key";
  auto first = get<enqueued>(x);
  auto again = get<enqueued>(x, true);
  CHECK(again.kind == enqueue_kind::created);
  CHECK_EQ(seen(again.job), seen(first.job));
  CHECK(again.scrap_id == x.target_id);
  // And one that was not committed is done now.
  CHECK(get<enqueued>(new_job(), true).kind == enqueue_kind::created);
  enqueue_batch_write batch;
  batch.jobs = {new_job(), new_scrap_job()};
  auto whole = get<enqueued_batch>(batch);
  auto repeat = get<enqueued_batch>(batch, true);
  REQUIRE_EQ(repeat.jobs.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    CHECK(repeat.jobs[i].kind == enqueue_kind::created);
    CHECK_EQ(repeat.jobs[i].job.id, whole.jobs[i].job.id);
    CHECK(repeat.jobs[i].scrap_id == whole.jobs[i].scrap_id);
  }
  CHECK_EQ(backend.number("SELECT count(*) FROM job"), 4);
}

SCENARIO("a scrap is stored, found and deleted") {
  auto x = new_scrap_job("본문");
  x.new_scrap->title = "제목";
  x.new_scrap->url = "https://example.com/?a=1&b=2";
  x.new_scrap->user_id = "user";
  add(x);
  auto found = store->find_scrap(x.target_id);
  REQUIRE(found.has_value());
  CHECK_EQ(found->content, "본문");
  CHECK(found->title == "제목");
  CHECK(found->url == "https://example.com/?a=1&b=2");
  CHECK(found->user_id == "user");
  get<done>(delete_scrap_write{x.target_id});
  CHECK(!store->find_scrap(x.target_id));
  CHECK_EQ(refused(delete_scrap_write{x.target_id}), "not_found");
  CHECK_EQ(refused(delete_scrap_write{"no-uuid"}), "not_found");
  get<done>(delete_scrap_write{x.target_id}, true);
}

END_FIXTURE_SCOPE()

} // namespace conformance_enqueue
