// tests/integration/persistence/conformance_books.hpp -- picture books, and
// balances that add up whatever happens. Included once by the suite of each
// store.
#include "conformance_fixture.hpp"

#include <barrier>
#include <random>
#include <thread>

namespace conformance_books {

BEGIN_FIXTURE_SCOPE(fixture)

// -- contents -----------------------------------------------------------------

SCENARIO("a book comes in with its job and shows the job's state") {
  auto x = new_book_job();
  auto made = get<enqueued>(x);
  CHECK(!made.balance);
  CHECK(!made.scrap_id);
  auto book = store->find_content(x.target_id);
  REQUIRE(book.has_value());
  CHECK_EQ(book->id, x.target_id);
  CHECK_EQ(book->job_id, x.id);
  CHECK(book->user_id == "user");
  CHECK_EQ(book->title, "a title");
  CHECK_EQ(book->prompt, "an owl");
  CHECK_EQ(book->page_count, 3);
  CHECK(book->status == job_status::pending);
  CHECK(book->pages.empty());
  auto running = start();
  get<changed>(progress_write{running.seq, running.run, 40, "page 2"});
  book = store->find_content(x.target_id);
  CHECK(book->status == job_status::processing);
  CHECK_EQ(book->progress_percent, 40);
  CHECK_EQ(book->progress_message, "page 2");
  fail(running);
  book = store->find_content(x.target_id);
  CHECK(book->status == job_status::failed);
  CHECK(book->error_message == "error: failed");
  CHECK(!store->find_content(make_uuid()));
  CHECK(!store->find_content("no-uuid"));
}

SCENARIO("books are listed from the newest on, a page at a time") {
  CHECK(store->list_contents({}, 10).empty());
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) {
    auto x = new_book_job();
    ids.push_back(x.target_id);
    add(x);
  }
  auto ids_of = [](const std::vector<content>& books) {
    std::vector<std::string> result;
    for (const auto& x : books)
      result.push_back(x.id);
    return result;
  };
  using list = std::vector<std::string>;
  CHECK(ids_of(store->list_contents({}, 2)) == (list{ids[4], ids[3]}));
  CHECK(ids_of(store->list_contents(ids[3], 2)) == (list{ids[2], ids[1]}));
  auto last = store->list_contents(ids[1], 2);
  CHECK(ids_of(last) == list{ids[0]});
  CHECK_EQ(last[0].title, "a title");
  CHECK(last[0].status == job_status::pending);
  CHECK(store->list_contents(ids[0], 2).empty());
  CHECK(store->list_contents("no-uuid", 2).empty());
}

SCENARIO("a book no store can keep leaves neither book nor job") {
  auto bad = [this](auto change) {
    auto x = new_book_job();
    change(x);
    CHECK_EQ(refused(x), "invalid_argument");
  };
  bad([](auto& x) { x.new_content->id = make_uuid(); });
  bad([](auto& x) { x.new_content->job_id = make_uuid(); });
  bad([](auto& x) { x.new_content->title = std::string("a\0b", 3); });
  bad([](auto& x) { x.new_content->prompt = "\xff"; });
  bad([](auto& x) { x.new_content->page_count = -1; });
  bad([](auto& x) { x.new_content->page_count = 1'000'000; });
  auto first = new_book_job(), same = new_book_job();
  add(first);
  same.target_id = same.new_content->id = first.target_id;
  CHECK_EQ(refused(same), "invalid_argument");
  CHECK_EQ(backend.number("SELECT count(*) FROM job"), 1);
  CHECK_EQ(backend.number("SELECT count(*) FROM contents"), 1);
}

// -- grants -------------------------------------------------------------------

SCENARIO("grants add up, and each counts once") {
  CHECK_EQ(balance(), 0);
  CHECK(store->find_account("user", 10).entries.empty());
  grant_write first{make_uuid(), "user", 100, "welcome"};
  CHECK_EQ(get<granted>(first).balance, 100);
  CHECK_EQ(get<granted>(first).balance, 100);
  CHECK_EQ(get<granted>(first, true).balance, 100);
  CHECK_EQ(grant("user", -30), 70);
  CHECK_EQ(grant("another", 5), 5);
  auto x = store->find_account("user", 10);
  CHECK_EQ(x.user_id, "user");
  CHECK_EQ(x.balance, 70);
  REQUIRE_EQ(x.entries.size(), 2u);
  CHECK_EQ(x.entries[0].amount, -30);
  CHECK_EQ(x.entries[1].amount, 100);
  CHECK_EQ(x.entries[1].note, "welcome");
  CHECK(x.entries[1].kind == ledger_kind::grant);
  CHECK(!x.entries[1].job_id);
  CHECK_EQ(store->find_account("user", 1).entries.size(), 1u);
  CHECK_EQ(store->find_account(std::string("a\0b", 3), 1).balance, 0);
}

SCENARIO("a grant that makes no sense changes nothing") {
  grant("user", 10);
  auto bad = [this](std::string id, std::string user, int64_t amount,
                    std::string note = "") {
    return refused(
      grant_write{std::move(id), std::move(user), amount, std::move(note)});
  };
  CHECK_EQ(bad(make_uuid(), "user", -11), "insufficient_funds");
  CHECK_EQ(bad(make_uuid(), "nobody", -1), "insufficient_funds");
  CHECK_EQ(bad("no-uuid", "user", 1), "invalid_argument");
  CHECK_EQ(bad(make_uuid(), "", 1), "invalid_argument");
  CHECK_EQ(bad(make_uuid(), "\xff", 1), "invalid_argument");
  CHECK_EQ(bad(make_uuid(), "user", 0), "invalid_argument");
  CHECK_EQ(bad(make_uuid(), "user", 1, "\xff"), "invalid_argument");
  for (auto amount : {std::numeric_limits<int64_t>::max(),
                      std::numeric_limits<int64_t>::min()})
    CHECK_EQ(bad(make_uuid(), "user", amount), "invalid_argument");
  CHECK_EQ(balance(), 10);
  CHECK_EQ(grant("user", -10), 0);
}

// -- prices -------------------------------------------------------------------

SCENARIO("a price is taken with the job, or neither happens") {
  grant("user", 100);
  auto x = new_book_job("user", 60);
  auto made = get<enqueued>(x);
  CHECK(made.balance == 40);
  CHECK_EQ(balance(), 40);
  auto line = store->find_account("user", 1).entries.at(0);
  CHECK(line.kind == ledger_kind::charge);
  CHECK_EQ(line.amount, -60);
  CHECK(line.job_id == x.id);
  auto no = answer(new_book_job("user", 60));
  CHECK_EQ(code_of(no), "insufficient_funds");
  CHECK(message_of(no).find("40") != std::string::npos);
  CHECK(message_of(no).find("60") != std::string::npos);
  CHECK_EQ(refused(new_book_job("poor", 1)), "insufficient_funds");
  CHECK_EQ(balance(), 40);
  CHECK_EQ(backend.number("SELECT count(*) FROM job"), 1);
  CHECK_EQ(backend.number("SELECT count(*) FROM contents"), 1);
  CHECK(get<enqueued>(new_book_job("user", 40)).balance == 0);
  auto bad = new_book_job("user", -1);
  CHECK_EQ(refused(bad), "invalid_argument");
  bad = new_book_job("user", 1);
  bad.user_id = std::nullopt;
  CHECK_EQ(refused(bad), "invalid_argument");
}

SCENARIO("a job that was there before costs nothing") {
  grant("user", 100);
  auto x = new_book_job("user", 60);
  x.unique_key = "key";
  x.idempotency_key = "request";
  x.idempotency_hash = "hash";
  CHECK(get<enqueued>(x).balance == 40);
  CHECK(get<enqueued>(x, true).balance == 40);
  auto again = new_book_job("user", 60);
  again.idempotency_key = "request";
  again.idempotency_hash = "hash";
  auto replay = get<enqueued>(again);
  CHECK(replay.kind == enqueue_kind::replayed);
  CHECK(replay.balance == 40);
  auto twin = new_book_job("user", 60);
  twin.unique_key = "key";
  auto duplicate = get<enqueued>(twin);
  CHECK(duplicate.kind == enqueue_kind::deduplicated);
  CHECK(duplicate.balance == 40);
  // Whoever is short of money may still ask for what was paid.
  grant("user", -40);
  CHECK(get<enqueued>(again).balance == 0);
  CHECK(get<enqueued>(twin).kind == enqueue_kind::deduplicated);
  CHECK_EQ(backend.number("SELECT count(*) FROM ledger"), 3);
  CHECK_EQ(backend.number("SELECT count(*) FROM contents"), 1);
}

SCENARIO("within one batch money is spent once") {
  grant("user", 100);
  auto first = new_book_job("user", 60), twin = new_book_job("user", 60);
  first.unique_key = twin.unique_key = "key";
  auto answers = store->apply({{first},
                               {twin},
                               {new_book_job("user", 50)},
                               {new_job()},
                               {new_book_job("user", 40)}});
  CHECK_EQ(code_of(answers[0]), "accepted");
  CHECK(std::get<enqueued>(answers[1]).kind == enqueue_kind::deduplicated);
  CHECK_EQ(code_of(answers[2]), "insufficient_funds");
  CHECK_EQ(code_of(answers[3]), "accepted");
  CHECK_EQ(code_of(answers[4]), "accepted");
  CHECK_EQ(balance(), 0);
  // A batch that is too expensive as a whole leaves nothing.
  grant("user", 100);
  enqueue_batch_write batch;
  batch.jobs = {new_book_job("user", 60), new_job(), new_book_job("user", 60)};
  auto no = answer(batch);
  CHECK_EQ(code_of(no), "insufficient_funds");
  CHECK(message_of(no).find('2') != std::string::npos);
  CHECK_EQ(balance(), 100);
  batch.jobs.pop_back();
  CHECK(get<enqueued_batch>(batch).jobs[0].balance == 40);
  CHECK_EQ(backend.number("SELECT count(*) FROM job"), 5);
}

SCENARIO("many at once never overdraw") {
  constexpr size_t clients = 4;
  constexpr int rounds = 20;
  grant("user", 30 * rounds);
  std::vector<std::unique_ptr<job_store>> stores;
  for (size_t i = 0; i < clients; ++i)
    stores.push_back(backend.connect());
  std::array<int, clients> paid{};
  std::array<int, clients> other_answers{};
  std::barrier start_line{clients};
  std::vector<std::thread> threads;
  for (size_t client = 0; client < clients; ++client)
    threads.emplace_back([&, client] {
      for (int round = 0; round < rounds; ++round) {
        // Posted twice: under one idempotency key.
        auto x = new_book_job("user", 10), y = new_book_job("user", 10);
        x.idempotency_key = y.idempotency_key =
          std::to_string(client) + "-" + std::to_string(round);
        x.idempotency_hash = y.idempotency_hash = "hash";
        start_line.arrive_and_wait();
        for (const auto& answer : stores[client]->apply({{x}, {y}})) {
          const auto* ok = std::get_if<enqueued>(&answer);
          paid[client] += ok && ok->kind == enqueue_kind::created;
          other_answers[client] +=
            !ok && code_of(answer) != "insufficient_funds";
        }
      }
    });
  for (auto& x : threads)
    x.join();
  int all = 0;
  for (size_t i = 0; i < clients; ++i) {
    all += paid[i];
    CHECK_EQ(other_answers[i], 0);
  }
  CHECK_EQ(all, 3 * rounds);
  CHECK_EQ(balance(), 0);
  CHECK_EQ(backend.number("SELECT count(*) FROM job"), 3 * rounds);
}

// -- refunds ------------------------------------------------------------------

SCENARIO("a job that fails or is cancelled gives its price back once") {
  grant("user", 100);
  auto refunds = [this] {
    return backend.number("SELECT count(*) FROM ledger WHERE kind = 'refund'");
  };
  MESSAGE("FAILED by its run, and by the run's repeated end");
  add(new_book_job("user", 60));
  auto running = start();
  CHECK_EQ(balance(), 40);
  auto end = ending(running, run_outcome::failed, verdict::fail);
  get<changed>(end);
  CHECK_EQ(balance(), 100);
  get<changed>(end, true);
  CHECK_EQ(refused(end), "lease_lost");
  CHECK_EQ(balance(), 100);
  CHECK_EQ(refunds(), 1);
  MESSAGE("retried runs keep it");
  add(new_book_job("user", 60));
  settle(start(), run_outcome::failed, verdict::retry);
  settle(start(), run_outcome::throttled, verdict::retry_unspent);
  CHECK_EQ(balance(), 40);
  MESSAGE("cancelled while it waits, twice");
  auto waiting = store->list_jobs({}).at(0);
  get<changed>(cancel_write{waiting.id});
  CHECK_EQ(refused(cancel_write{waiting.id}), "conflict");
  get<changed>(cancel_write{waiting.id}, true);
  CHECK_EQ(balance(), 100);
  CHECK_EQ(refunds(), 2);
  MESSAGE("cancelled while it runs");
  add(new_book_job("user", 60));
  running = start();
  get<changed>(cancel_write{running.id});
  CHECK_EQ(balance(), 40);
  settle(running, run_outcome::failed, verdict::retry);
  CHECK_EQ(balance(), 100);
  MESSAGE("poison");
  auto last = new_book_job("user", 60);
  last.max_attempts = 1;
  add(last);
  start(other, ms{0});
  CHECK_EQ(get<rescued>(rescue_write{me}).jobs.size(), 1u);
  CHECK_EQ(balance(), 100);
  CHECK_EQ(refunds(), 4);
  MESSAGE("COMPLETED, with an effect whose target is gone");
  auto lost = new_scrap_job();
  lost.user_id = "user";
  lost.price = 60;
  add(lost);
  running = start();
  get<done>(delete_scrap_write{lost.target_id});
  end = ending(running, run_outcome::completed, verdict::complete);
  end.effects = {card_for(running)};
  CHECK(get<changed>(end).job.status == job_status::failed);
  CHECK_EQ(balance(), 100);
  MESSAGE("COMPLETED");
  add(new_book_job("user", 60));
  complete(start());
  CHECK_EQ(balance(), 40);
  CHECK_EQ(refunds(), 5);
}

SCENARIO("a retry takes the price again, if it is there") {
  grant("user", 60);
  auto x = add(new_book_job("user", 60));
  fail(start());
  CHECK_EQ(balance(), 60);
  grant("user", -1);
  auto no = answer(retry_write{x.id});
  CHECK_EQ(code_of(no), "insufficient_funds");
  CHECK(message_of(no).find("59") != std::string::npos);
  CHECK_EQ(state(x), "FAILED");
  grant("user", 1);
  get<changed>(retry_write{x.id});
  CHECK_EQ(balance(), 0);
  get<changed>(retry_write{x.id}, true);
  CHECK_EQ(refused(retry_write{x.id}), "conflict");
  CHECK_EQ(balance(), 0);
  get<changed>(cancel_write{x.id});
  CHECK_EQ(balance(), 60);
  get<changed>(retry_write{x.id});
  complete(start());
  CHECK_EQ(balance(), 0);
  CHECK_EQ(backend.number("SELECT count(*) FROM ledger WHERE kind = 'charge'"),
           3);
  CHECK_EQ(backend.number("SELECT count(*) FROM ledger WHERE kind = 'refund'"),
           2);
}

SCENARIO("an end and its retry may come in one batch") {
  grant("user", 60);
  auto x = add(new_book_job("user", 60));
  auto running = start();
  auto answers =
    store->apply({{ending(running, run_outcome::failed, verdict::fail)},
                  {retry_write{x.id}}});
  CHECK_EQ(code_of(answers[0]), "accepted");
  CHECK_EQ(code_of(answers[1]), "accepted");
  CHECK_EQ(balance(), 0);
  CHECK_EQ(state(x), "PENDING");
}

SCENARIO("a bulk retry passes over what its users cannot pay") {
  grant("rich", 100);
  grant("poor", 60);
  auto paid = add(new_book_job("rich", 60));
  auto old = add(new_book_job("poor", 30));
  auto young = add(new_book_job("poor", 30));
  add();
  for (int i = 0; i < 4; ++i)
    fail(start());
  grant("poor", -20);
  auto result = get<bulk_retried>(bulk_retry_write{});
  CHECK_EQ(result.matched, 4u);
  CHECK_EQ(result.jobs.size(), 3u);
  CHECK(!result.next_before_seq);
  CHECK_EQ(state(paid), "PENDING");
  // The newest goes first.
  CHECK_EQ(state(young), "PENDING");
  CHECK_EQ(state(old), "FAILED");
  CHECK_EQ(balance("rich"), 40);
  CHECK_EQ(balance("poor"), 10);
}

SCENARIO("the ledger adds up after anything") {
  grant("a", 500);
  grant("b", 300);
  std::mt19937 random{20'240'229};
  auto below = [&random](size_t n) { return random() % n; };
  std::vector<std::string> ids;
  std::vector<settle_write> ends;
  for (int i = 0; i < 400; ++i) {
    std::vector<write_entry> batch;
    for (size_t n = 1 + below(3); n > 0; --n) {
      const auto repeated = below(4) == 0;
      switch (below(6)) {
        case 0:
        case 1: {
          auto x =
            new_book_job(below(2) ? "a" : "b", static_cast<int64_t>(below(90)));
          x.max_attempts = 1 + below(2);
          if (below(3) == 0)
            x.unique_key = "key" + std::to_string(below(3));
          ids.push_back(x.id);
          batch.push_back({x});
          break;
        }
        case 2:
          if (!ids.empty())
            batch.push_back({cancel_write{ids[below(ids.size())]}, repeated});
          break;
        case 3:
          if (!ids.empty())
            batch.push_back({retry_write{ids[below(ids.size())]}, repeated});
          break;
        case 4:
          batch.push_back({rescue_write{me}});
          break;
        default:
          // Leases of no time: a rescue may be faster than the end.
          auto got = get<claimed>(claim(2, ms{below(2) ? 0 : 30'000}));
          const std::vector<verdict> verdicts{verdict::complete, verdict::fail,
                                              verdict::retry, verdict::cancel};
          for (const auto& x : got.jobs)
            ends.push_back(ending(x, run_outcome::failed, verdicts[below(4)]));
          if (!ends.empty())
            batch.push_back({ends[below(ends.size())], repeated});
      }
    }
    store->apply(batch);
    if (i % 20 == 0)
      CHECK_EQ(ledger_errors(), 0);
  }
  CHECK_GT(backend.number("SELECT count(*) FROM ledger"), 50);
}

END_FIXTURE_SCOPE()

} // namespace conformance_books
