// tests/integration/persistence/conformance_settle.hpp -- how runs end.
// Included once by the suite of each store.
#include "conformance_fixture.hpp"
#include "unknown_run.hpp"

namespace conformance_settle {

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("a completed run ends its job") {
  add();
  auto running = start();
  auto x = complete(running);
  CHECK(x.status == job_status::completed);
  CHECK(x.result.value() == nlohmann::json({{"answer", 42}}));
  CHECK_EQ(x.attempts, 1u);
  CHECK_EQ(x.run, 1);
  CHECK_GT(x.version, running.version);
  CHECK(x.finished_at.has_value());
  CHECK(x.started_at == running.started_at);
  CHECK(!x.error_message);
  CHECK_EQ(seen(x), seen(now(x)));
  CHECK(store->attempts_of(x.id).empty());
}

SCENARIO("every verdict has its state, and counts what it spends") {
  struct row {
    run_outcome outcome;
    verdict decision;
    job_status status;
    uint32_t attempts;
    unspent_counts unspent;
    std::string reason;
  };
  using enum run_outcome;
  const auto pending = job_status::pending;
  const std::vector<row> table{
    {failed, verdict::retry, pending, 1, {}, "retry"},
    {timed_out, verdict::retry, pending, 1, {}, "retry"},
    {throttled, verdict::retry_unspent, pending, 0, {1, 0, 0}, "throttled"},
    {provider_down,
     verdict::retry_unspent,
     pending,
     0,
     {0, 1, 0},
     "provider_down"},
    {interrupted, verdict::retry_unspent, pending, 0, {0, 0, 1}, "interrupted"},
    {snoozed, verdict::retry_unspent, pending, 0, {}, "snoozed"},
    {failed, verdict::fail, job_status::failed, 1, {}, ""},
    {failed_permanently, verdict::fail, job_status::failed, 1, {}, ""},
    {timed_out, verdict::fail, job_status::failed, 1, {}, ""},
    {lost, verdict::fail, job_status::failed, 1, {}, ""},
    {throttled, verdict::fail, job_status::failed, 1, {}, ""},
    {cancelled, verdict::cancel, job_status::cancelled, 1, {}, ""},
  };
  for (const auto& expected : table) {
    MESSAGE("outcome " << std::string{to_string(expected.outcome)});
    add();
    auto running = start();
    auto wanted = ending(running, expected.outcome, expected.decision);
    wanted.delay = ms{60'000};
    auto x = get<changed>(wanted).job;
    CHECK(x.status == expected.status);
    CHECK_EQ(x.attempts, expected.attempts);
    CHECK(x.unspent == expected.unspent);
    CHECK_EQ(x.reason, expected.reason);
    CHECK_EQ(x.run, 1);
    CHECK_GT(x.version, running.version);
    CHECK(x.error_message == wanted.error);
    CHECK_EQ(x.finished_at.has_value(), is_final(expected.status));
    CHECK_EQ(seen(x), seen(now(x)));
    auto attempts = store->attempts_of(x.id);
    REQUIRE_EQ(attempts.size(), 1u);
    const auto& noted = attempts.front();
    CHECK_EQ(noted.run, 1);
    CHECK_EQ(noted.node, "node-a");
    CHECK(noted.outcome == expected.outcome);
    CHECK(noted.decision == expected.decision);
    CHECK_EQ(noted.error, wanted.error);
    CHECK_EQ(noted.why, "a reason");
    CHECK(noted.started_at == *running.started_at);
    CHECK(noted.finished_at >= noted.started_at);
    if (expected.status == job_status::pending) {
      CHECK(noted.next_run_at == x.run_at);
      auto wait = x.run_at - noted.finished_at;
      CHECK(wait == ms{60'000});
    } else {
      CHECK(!noted.next_run_at);
    }
  }
}

SCENARIO("a retried job runs again with what was counted") {
  add();
  int64_t version = 0;
  for (int run = 1; run <= 4; ++run) {
    auto running = start();
    CHECK_EQ(running.run, run);
    CHECK_EQ(running.attempts, 1u);
    CHECK_EQ(running.unspent.throttled, static_cast<uint32_t>(run - 1));
    CHECK_GT(running.version, version);
    auto x = settle(running, run_outcome::throttled, verdict::retry_unspent);
    CHECK_GT(x.version, running.version);
    version = x.version;
  }
  auto running = start();
  CHECK_EQ(running.reason, "");
  auto x = settle(running, run_outcome::failed, verdict::retry);
  CHECK_EQ(x.attempts, 1u);
  running = start();
  CHECK_EQ(running.attempts, 2u);
  CHECK_EQ(running.run, 6);
  x = complete(running);
  CHECK_EQ(x.attempts, 2u);
  CHECK_EQ(x.unspent.throttled, 4u);
  CHECK(!x.error_message);
  CHECK_EQ(store->attempts_of(x.id).size(), 5u);
}

SCENARIO("a delay as long as it gets overflows nothing") {
  add();
  auto wanted = ending(start(), run_outcome::failed, verdict::retry);
  wanted.delay = ms::max();
  auto x = get<changed>(wanted).job;
  CHECK(x.run_at > x.updated_at);
  CHECK(get<claimed>(claim(1)).jobs.empty());
  add();
  wanted = ending(start(), run_outcome::failed, verdict::retry);
  wanted.delay = ms{-5'000};
  x = get<changed>(wanted).job;
  CHECK_EQ(start().id, x.id);
}

SCENARIO("a run that lost its job changes nothing") {
  auto x = add();
  auto lost = start(other, ms{0});
  get<rescued>(rescue_write{me});
  auto refused_everything = [&] {
    const auto before = seen(now(x));
    for (auto decision :
         {verdict::complete, verdict::retry, verdict::retry_unspent,
          verdict::fail, verdict::cancel})
      CHECK_EQ(refused(ending(lost, run_outcome::failed, decision)),
               "lease_lost");
    CHECK_EQ(refused(progress_write{lost.seq, lost.run, 50, "late"}),
             "lease_lost");
    CHECK_EQ(seen(now(x)), before);
    CHECK_EQ(store->attempts_of(x.id).size(), 1u);
  };
  refused_everything(); // back in the queue
  auto running = start();
  CHECK_EQ(running.run, lost.run + 1);
  refused_everything(); // run by another
  complete(running);
  refused_everything(); // done by another
}

SCENARIO("a run ends once, except that its end may be repeated") {
  for (auto decision :
       {verdict::complete, verdict::retry, verdict::retry_unspent,
        verdict::fail, verdict::cancel}) {
    MESSAGE("decision " << std::string{to_string(decision)});
    add();
    auto wanted = ending(start(), run_outcome::failed, decision);
    wanted.delay = ms{3'600'000};
    if (decision == verdict::complete)
      wanted.outcome = run_outcome::completed;
    auto first = get<changed>(wanted).job;
    CHECK_EQ(refused(wanted), "lease_lost");
    CHECK_EQ(seen(get<changed>(wanted, true).job), seen(first));
    CHECK_EQ(seen(now(first)), seen(first));
  }
  // An end that was never committed is done by the repeat.
  add();
  auto wanted = ending(start(), run_outcome::completed, verdict::complete);
  CHECK(get<changed>(wanted, true).job.status == job_status::completed);
  // The repeat of a run that somebody else's rescue ended is not lost either.
  add();
  auto taken = start(other, ms{0});
  auto never = taken;
  never.run += 5;
  CHECK_EQ(refused(ending(never, run_outcome::failed, verdict::fail), true),
           "lease_lost");
}

SCENARIO("two thousand ends of all kinds go into one batch") {
  for (int i = 0; i < 2; ++i) {
    enqueue_batch_write batch;
    for (int n = 0; n < 1'000; ++n)
      batch.jobs.push_back(new_job());
    get<enqueued_batch>(batch);
  }
  using enum run_outcome;
  std::vector<write_entry> writes;
  std::vector<std::string> expected;
  auto end = [&](const settle_write& x, std::string then) {
    writes.push_back({x, false});
    expected.push_back(std::move(then));
  };
  int i = 0;
  for (const auto& x : get<claimed>(claim(2'000)).jobs) {
    auto success = ending(x, completed, verdict::complete);
    success.result = {{"n", i}};
    auto later = ending(x, failed, verdict::retry);
    later.delay = ms{3'600'000};
    switch (i++ % 8) {
      case 0:
        end(ending(x, failed_permanently, verdict::fail), "FAILED");
        // The first end of a run is the one that counts.
        end(success, "lease_lost");
        break;
      case 1:
        end(later, "PENDING");
        break;
      case 2:
        later.decision = verdict::retry_unspent;
        later.outcome = throttled;
        end(later, "PENDING");
        break;
      case 3:
        end(ending(x, cancelled, verdict::cancel), "CANCELLED");
        break;
      case 4:
        end(success, "COMPLETED");
        success.result = {{"n", -1}};
        end(success, "lease_lost");
        break;
      case 5:
        success = next_run_of(success);
        end(success, "lease_lost");
        break;
      case 6:
        success.result = {{"text", std::string("\0", 1)}};
        end(success, "invalid_argument");
        break;
      default:
        end(success, "COMPLETED");
        break;
    }
  }
  REQUIRE_EQ(i, 2'000);
  const auto answers = store->apply(writes);
  REQUIRE_EQ(answers.size(), expected.size());
  size_t wrong = 0;
  for (size_t n = 0; n < answers.size(); ++n) {
    const auto got = answer_as<changed>(answers[n]);
    wrong +=
      (got ? std::string{to_string(got->job.status)} : code_of(answers[n]))
      != expected[n];
    if (got && n % 50 < 10)
      CHECK_EQ(seen(got->job), seen(now(got->job)));
  }
  CHECK_EQ(wrong, 0u);
  CHECK_EQ(backend.number("SELECT count(*) FROM running"), 500);
  CHECK_EQ(backend.number("SELECT count(*) FROM queue"), 500);
  CHECK_EQ(backend.number("SELECT count(*) FROM job_attempts"), 1'000);
  // One moment: one transaction.
  CHECK_EQ(backend.number("SELECT count(DISTINCT finished_at) FROM job"
                          " WHERE outcome IS NOT NULL"),
           1);
  CHECK_EQ(backend.number("SELECT count(*) FROM jobs"
                          " WHERE status = 'COMPLETED'"),
           500);
}

SCENARIO("errors are cut at 1,000 code points and made storable") {
  auto stored = [this](const std::string& error) {
    add();
    auto wanted = ending(start(), run_outcome::failed, verdict::fail);
    wanted.error = error;
    wanted.why = error.substr(0, 7);
    auto x = get<changed>(wanted).job;
    CHECK_EQ(store->attempts_of(x.id).front().error, *x.error_message);
    return *x.error_message;
  };
  std::string korean;
  for (int i = 0; i < 5'000; ++i)
    korean += "한";
  CHECK_EQ(stored(korean), korean.substr(0, 3'000) + "...");
  CHECK_EQ(stored(korean.substr(0, 3'000)), korean.substr(0, 3'000));
  CHECK_EQ(stored(std::string("a\0b", 3)), "a\uFFFDb");
  CHECK_EQ(stored("caf\xE9 \xF0\x9F\x98"), "caf\uFFFD \uFFFD");
  CHECK_EQ(stored("'; DROP TABLE job; --"), "'; DROP TABLE job; --");
}

SCENARIO("a result no store can keep is refused, and the run goes on") {
  add();
  auto wanted = ending(start(), run_outcome::completed, verdict::complete);
  wanted.result = {{"text", std::string("\0", 1)}};
  CHECK_EQ(refused(wanted), "invalid_argument");
  CHECK_EQ(state(*wanted.claimed), "PROCESSING");
  wanted.result = nlohmann::json::array({"한글", 0.1, nullptr});
  CHECK(get<changed>(wanted).job.result == wanted.result);
}

SCENARIO("a card is stored with the completion of its job") {
  auto x = add(new_scrap_job());
  auto wanted = ending(start(), run_outcome::completed, verdict::complete);
  wanted.effects = {card_for(x)};
  card_in(wanted).user_id = "user";
  CHECK(get<changed>(wanted).job.status == job_status::completed);
  auto card = store->find_card(card_in(wanted).id);
  REQUIRE(card.has_value());
  CHECK_EQ(card->scrap_id, x.target_id);
  CHECK_EQ(card->job_id, x.id);
  CHECK(card->user_id == "user");
  CHECK_EQ(card->summary, card_in(wanted).summary);
  CHECK(card->tags == card_in(wanted).tags);
  CHECK(card->embedding == card_in(wanted).embedding);
  CHECK_EQ(card->model, "local");
  // Not again by a repeat, a late twin, or under another id.
  get<changed>(wanted, true);
  auto twin = wanted;
  card_in(twin).id = make_uuid();
  get<changed>(twin, true);
  CHECK_EQ(refused(twin), "lease_lost");
  CHECK_EQ(store->cards_of_scrap(x.target_id, 10).size(), 1u);
  auto listed = store->list_cards({}, 10);
  REQUIRE_EQ(listed.size(), 1u);
  CHECK_EQ(listed[0].id, card->id);
  CHECK_EQ(listed[0].summary, card->summary);
  CHECK(listed[0].embedding.empty());
  CHECK(store->list_cards(card->id, 10).empty());
  CHECK_EQ(store->list_cards(make_uuid(), 10).size(), 1u);
  CHECK(store->list_cards("no-uuid", 10).empty());
  // A card outlives its scrap.
  get<done>(delete_scrap_write{x.target_id});
  CHECK(store->find_card(card_in(wanted).id).has_value());
}

SCENARIO("a card without tags or embedding is a card") {
  auto x = add(new_scrap_job());
  auto wanted = ending(start(), run_outcome::completed, verdict::complete);
  wanted.effects = {card_for(x)};
  card_in(wanted).tags.clear();
  card_in(wanted).embedding.clear();
  get<changed>(wanted);
  auto card = store->find_card(card_in(wanted).id);
  REQUIRE(card.has_value());
  CHECK(card->tags.empty());
  CHECK(card->embedding.empty());
}

SCENARIO("a card whose scrap is gone turns the completion into a failure") {
  auto x = add(new_scrap_job());
  auto wanted = ending(start(), run_outcome::completed, verdict::complete);
  wanted.effects = {card_for(x)};
  get<done>(delete_scrap_write{x.target_id});
  auto failed = get<changed>(wanted).job;
  CHECK(failed.status == job_status::failed);
  CHECK(failed.error_message == std::string{target_gone_message});
  CHECK(failed.result.is_null());
  CHECK(!store->find_card(card_in(wanted).id));
  auto attempts = store->attempts_of(x.id);
  REQUIRE_EQ(attempts.size(), 1u);
  CHECK(attempts[0].outcome == run_outcome::failed_permanently);
  CHECK(attempts[0].decision == verdict::fail);
  CHECK_EQ(attempts[0].error, std::string{target_gone_message});
  CHECK(get<changed>(wanted, true).job.status == job_status::failed);
}

SCENARIO("a card no store can keep leaves card and job as they were") {
  auto x = add(new_scrap_job());
  auto wanted = ending(start(), run_outcome::completed, verdict::complete);
  wanted.effects = {card_for(x)};
  card_in(wanted).tags.push_back("\xff");
  CHECK_EQ(refused(wanted), "invalid_argument");
  wanted.effects = {card_for(x)};
  card_in(wanted).id = "no-uuid";
  CHECK_EQ(refused(wanted), "invalid_argument");
  CHECK_EQ(state(x), "PROCESSING");
  CHECK(store->cards_of_scrap(x.target_id, 10).empty());
}

SCENARIO("cards of a scrap come newest first") {
  auto first = add(new_scrap_job());
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    if (i > 0)
      add(new_job("CARD_ANALYSIS", first.target_id));
    auto running = start();
    auto wanted = ending(running, run_outcome::completed, verdict::complete);
    wanted.effects = {card_for(running)};
    ids.insert(ids.begin(), card_in(wanted).id);
    get<changed>(wanted);
  }
  std::vector<std::string> found;
  for (const auto& x : store->cards_of_scrap(first.target_id, 2))
    found.push_back(x.id);
  CHECK_EQ(found, (std::vector{ids[0], ids[1]}));
  CHECK(store->cards_of_scrap(make_uuid(), 5).empty());
  CHECK(store->cards_of_scrap("no-uuid", 5).empty());
  CHECK(!store->find_card("no-uuid"));
}

END_FIXTURE_SCOPE()

} // namespace conformance_settle
