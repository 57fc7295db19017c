// tests/integration/persistence/conformance_steps.hpp -- parts of jobs that are
// done once, and what runs make. Included once by the suite of each store.
#include "conformance_fixture.hpp"

namespace conformance_steps {

namespace {

page_image image_of(const std::string& content_id, int number,
                    std::string data = std::string("\x89PNG\0\xff", 6)) {
  page_image result;
  result.content_id = content_id;
  result.number = number;
  result.info.content_type = "image/png";
  result.info.digest = std::string(63, '0') + std::to_string(number % 10);
  result.info.model = "a painter";
  result.data = std::make_shared<const std::string>(std::move(data));
  return result;
}

std::vector<std::string> texts_of(const std::optional<content>& book) {
  std::vector<std::string> result;
  for (const auto& x : book.value().pages)
    result.push_back(x.text);
  return result;
}

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

// -- steps --------------------------------------------------------------------

SCENARIO("a step is stored once, with what it cost") {
  add();
  auto running = start();
  auto wanted = step_of(running);
  auto x = get<changed>(wanted).job;
  CHECK(x.status == job_status::processing);
  CHECK_GT(x.version, running.version);
  CHECK((x.used == usage{100, 20, 3}));
  CHECK_EQ(seen(x), seen(now(x)));
  auto steps = store->steps_of(x.id);
  REQUIRE_EQ(steps.size(), 1u);
  CHECK_EQ(steps[0].name, "text");
  CHECK_EQ(steps[0].input_hash, "hash");
  CHECK(steps[0].result == wanted.step.result);
  CHECK_EQ(steps[0].provider, "anthropic");
  CHECK_EQ(steps[0].model, "a model");
  CHECK((steps[0].used == usage{100, 20, 3}));
  CHECK(steps[0].took == ms{1'500});
  CHECK_EQ(steps[0].run, 1);
  CHECK(steps[0].created_at >= *running.started_at);
  // The first result stays, and nothing is paid twice.
  wanted.step.result = "another";
  CHECK((get<changed>(wanted, true).job.used == usage{100, 20, 3}));
  CHECK((get<changed>(wanted).job.used == usage{100, 20, 3}));
  CHECK(store->steps_of(x.id).at(0).result == steps[0].result);
  // Another input is another step.
  get<changed>(step_of(running, "text", "other hash"));
  get<changed>(step_of(running, "image-1"));
  CHECK_EQ(store->steps_of(x.id).size(), 3u);
  CHECK_EQ(store->steps_of(x.id)[2].name, "image-1");
  CHECK((now(x).used == usage{300, 60, 9}));
  CHECK(store->steps_of(make_uuid()).empty());
  CHECK(store->steps_of("no-uuid").empty());
}

SCENARIO("steps outlive their run, and later runs find them") {
  auto x = add();
  auto running = start();
  get<changed>(step_of(running));
  settle(running, run_outcome::failed, verdict::retry);
  running = start();
  CHECK((running.used == usage{100, 20, 3}));
  CHECK((get<changed>(step_of(running)).job.used == usage{100, 20, 3}));
  get<changed>(step_of(running, "image-1"));
  fail(running);
  get<changed>(retry_write{x.id});
  CHECK((complete(start()).used == usage{200, 40, 6}));
  auto steps = store->steps_of(x.id);
  REQUIRE_EQ(steps.size(), 2u);
  CHECK_EQ(steps[0].run, 1);
  CHECK_EQ(steps[1].run, 2);
}

SCENARIO("only the run that owns the job stores steps") {
  auto x = add();
  auto lost = start(other, ms{0});
  get<rescued>(rescue_write{me});
  CHECK_EQ(refused(step_of(lost)), "lease_lost");
  auto running = start();
  CHECK_EQ(refused(step_of(lost)), "lease_lost");
  CHECK_EQ(refused(step_of(lost), true), "lease_lost");
  complete(running);
  CHECK_EQ(refused(step_of(running)), "lease_lost");
  auto none = running;
  none.seq = 4711;
  CHECK_EQ(refused(step_of(none)), "lease_lost");
  CHECK(store->steps_of(x.id).empty());
}

SCENARIO("a step no store can keep is refused, and the run goes on") {
  add();
  auto running = start();
  auto bad = [&](auto change) {
    auto x = step_of(running);
    change(x);
    CHECK_EQ(refused(x), "invalid_argument");
  };
  bad([](auto& x) { x.step.name = ""; });
  bad([](auto& x) { x.step.input_hash = std::string("\0", 1); });
  bad([](auto& x) { x.step.result = {{"k", "\xff"}}; });
  bad([](auto& x) { x.step.provider = "\xff"; });
  bad([](auto& x) { x.step.model = std::string("\0", 1); });
  bad(
    [](auto& x) { x.step.used.images = std::numeric_limits<uint64_t>::max(); });
  CHECK_EQ(seen(now(running)), seen(running));
  CHECK(store->steps_of(running.id).empty());
  auto null_result = step_of(running);
  null_result.step.result = nullptr;
  get<changed>(null_result);
  CHECK(store->steps_of(running.id).at(0).result.is_null());
}

SCENARIO("steps of many runs come in one batch") {
  for (int i = 0; i < 3; ++i)
    add();
  auto jobs = get<claimed>(claim(3)).jobs;
  REQUIRE_EQ(jobs.size(), 3u);
  auto foreign = jobs[0];
  foreign.run = 9;
  auto answers = store->apply(
    {{step_of(jobs[0])},
     {step_of(foreign)},
     {step_of(jobs[1])},
     {step_of(jobs[0])},
     {step_of(jobs[0], "image-1")},
     {ending(jobs[0], run_outcome::completed, verdict::complete)}});
  CHECK_EQ(code_of(answers[0]), "accepted");
  CHECK_EQ(code_of(answers[1]), "lease_lost");
  CHECK_EQ(code_of(answers[2]), "accepted");
  CHECK_EQ(code_of(answers[3]), "accepted");
  CHECK_EQ(code_of(answers[4]), "accepted");
  const auto ended = answer_as<changed>(answers[5]);
  REQUIRE(ended.has_value());
  CHECK((ended->job.used == usage{200, 40, 6}));
  CHECK_EQ(store->steps_of(jobs[0].id).size(), 2u);
  CHECK_EQ(store->steps_of(jobs[1].id).size(), 1u);
}

SCENARIO("usage is summed by type, user and day") {
  const auto from = add().created_at;
  auto mine = new_job("OTHER");
  mine.user_id = "user";
  add(mine);
  for (const auto& x : get<claimed>(claim(2)).jobs) {
    get<changed>(step_of(x));
    if (x.type == "OTHER")
      get<changed>(step_of(x, "image-1"));
  }
  const auto to = from + std::chrono::hours{1};
  auto rows = store->usage_between(from, to, usage_group::type);
  REQUIRE_EQ(rows.size(), 2u);
  CHECK_EQ(rows[0].key, "OTHER");
  CHECK_EQ(rows[0].jobs, 1);
  CHECK_EQ(rows[0].steps, 2);
  CHECK((rows[0].used == usage{200, 40, 6}));
  CHECK_EQ(rows[1].key, "TEST");
  rows = store->usage_between(from, to, usage_group::user);
  REQUIRE_EQ(rows.size(), 2u);
  CHECK_EQ(rows[0].key, "user");
  CHECK_EQ(rows[1].key, "");
  int64_t steps = 0;
  for (const auto& x : store->usage_between(from, to, usage_group::day)) {
    CHECK_EQ(x.key.size(), 10u);
    steps += x.steps;
  }
  CHECK_EQ(steps, 3);
  CHECK(store->usage_between(to, from, usage_group::day).empty());
  CHECK(
    store->usage_between(from - std::chrono::hours{1}, from, usage_group::day)
      .empty());
  CHECK_EQ(
    store->usage_between(timestamp::min(), timestamp::max(), usage_group::type)
      .size(),
    2u);
}

// -- effects ------------------------------------------------------------------

SCENARIO("pages and pictures come with their steps") {
  auto book_job = new_book_job();
  const auto& book = book_job.target_id;
  add(book_job);
  auto running = start();
  auto text = step_of(running);
  text.effects = {book_pages{book, {"하나", "", "three", "four"}}};
  get<changed>(text);
  CHECK_EQ(texts_of(store->find_content(book)),
           (std::vector<std::string>{"하나", "", "three", "four"}));
  auto image = step_of(running, "image-2");
  image.effects = {image_of(book, 2)};
  get<changed>(image);
  auto found = store->find_image(book, 2);
  REQUIRE(found.has_value());
  CHECK_EQ(*found->data, std::string("\x89PNG\0\xff", 6));
  CHECK_EQ(found->content_id, book);
  CHECK_EQ(found->number, 2);
  CHECK_EQ(found->info.content_type, "image/png");
  CHECK_EQ(found->info.bytes, 6u);
  CHECK_EQ(found->info.model, "a painter");
  CHECK_EQ(found->info.digest, std::string(63, '0') + "2");
  auto pages = store->find_content(book)->pages;
  REQUIRE_EQ(pages.size(), 4u);
  CHECK(!pages[0].image);
  REQUIRE(pages[1].image.has_value());
  CHECK_EQ(pages[1].image->bytes, 6u);
  CHECK_EQ(pages[1].number, 2);
  // A newer picture takes the older one's place; the old step does not come
  // back by a repeat.
  auto redrawn = step_of(running, "image-2", "again");
  redrawn.effects = {image_of(book, 2, "new")};
  get<changed>(redrawn);
  get<changed>(image, true);
  CHECK_EQ(*store->find_image(book, 2)->data, "new");
  // Fewer pages: the others go, with their pictures.
  auto shorter = step_of(running, "text", "shorter");
  shorter.effects = {book_pages{book, {"eins"}}};
  get<changed>(shorter);
  CHECK_EQ(texts_of(store->find_content(book)),
           (std::vector<std::string>{"eins"}));
  CHECK(!store->find_image(book, 2));
  CHECK(!store->find_image(make_uuid(), 1));
  CHECK(!store->find_image("no-uuid", 1));
}

SCENARIO("a picture of 3 MB comes back byte for byte") {
  auto book_job = new_book_job();
  const auto& book = book_job.target_id;
  add(book_job);
  auto running = start();
  std::string big;
  for (uint32_t i = 0; big.size() < 3'000'000; ++i)
    big += static_cast<char>(i * 2654435761u >> 24);
  auto end = ending(running, run_outcome::completed, verdict::complete);
  // A page may come along with its picture, in any order.
  end.effects = {image_of(book, 1, big), book_pages{book, {"one"}}};
  CHECK(get<changed>(end).job.status == job_status::completed);
  CHECK(*store->find_image(book, 1)->data == big);
  auto empty = add(new_job("IMAGE_REGEN", book));
  end = ending(start(), run_outcome::completed, verdict::complete);
  end.effects = {image_of(book, 1, "")};
  get<changed>(end);
  CHECK_EQ(store->find_image(book, 1)->info.bytes, 0u);
  CHECK(store->find_image(book, 1)->data->empty());
}

SCENARIO("an effect whose target is gone refuses its step with everything") {
  auto book_job = new_book_job();
  const auto& book = book_job.target_id;
  add(book_job);
  auto running = start();
  auto text = step_of(running);
  text.effects = {book_pages{book, {"one", "two"}}};
  get<changed>(text);
  const auto before = seen(now(running));
  til_entry til;
  til.id = make_uuid();
  til.job_id = running.id;
  til.daily_summary_id = make_uuid();
  recall_entry recall;
  recall.id = make_uuid();
  recall.job_id = running.id;
  recall.daily_summary_id = "no-uuid";
  auto card = card_for(running);
  card.scrap_id = make_uuid();
  const std::vector<effect> lost{image_of(book, 3),
                                 image_of(make_uuid(), 1),
                                 book_pages{make_uuid(), {"one"}},
                                 book_pages{"no-uuid", {}},
                                 til,
                                 recall,
                                 card};
  for (const auto& x : lost) {
    auto step = step_of(running, "more");
    step.effects = {image_of(book, 1), x, image_of(book, 2)};
    auto no = answer(step);
    CHECK_EQ(code_of(no), "not_found");
    CHECK_EQ(message_of(no), std::string{target_gone_message});
  }
  CHECK_EQ(seen(now(running)), before);
  CHECK_EQ(store->steps_of(running.id).size(), 1u);
  CHECK(!store->find_image(book, 1));
  // The same with a completion, which fails.
  auto end = ending(running, run_outcome::completed, verdict::complete);
  end.effects = {image_of(book, 1), til};
  auto failed = get<changed>(end).job;
  CHECK(failed.status == job_status::failed);
  CHECK(failed.error_message == std::string{target_gone_message});
  CHECK(!store->find_image(book, 1));
}

SCENARIO("an effect no store can keep leaves everything as it was") {
  auto book_job = new_book_job();
  const auto& book = book_job.target_id;
  add(book_job);
  auto running = start();
  auto no_data = image_of(book, 1);
  no_data.data = nullptr;
  auto no_digest = image_of(book, 1);
  no_digest.info.digest = "x";
  auto foreign = card_for(running);
  foreign.job_id = make_uuid();
  const std::vector<effect> all{book_pages{book, {"\xff"}}, no_data, no_digest,
                                image_of(book, 0)};
  for (const auto& x : all) {
    auto step = step_of(running);
    step.effects = {x};
    CHECK_EQ(refused(step), "invalid_argument");
    auto end = ending(running, run_outcome::completed, verdict::complete);
    end.effects = {x};
    CHECK_EQ(refused(end), "invalid_argument");
  }
  auto end = ending(running, run_outcome::completed, verdict::complete);
  end.effects = {foreign};
  CHECK_EQ(refused(end), "invalid_argument");
  CHECK_EQ(seen(now(running)), seen(running));
}

SCENARIO("effects of what did not complete are dropped") {
  auto book_job = new_book_job();
  add(book_job);
  auto end = ending(start(), run_outcome::failed, verdict::fail);
  end.effects = {book_pages{book_job.target_id, {"one"}}};
  get<changed>(end);
  CHECK(store->find_content(book_job.target_id)->pages.empty());
}

END_FIXTURE_SCOPE()

} // namespace conformance_steps
