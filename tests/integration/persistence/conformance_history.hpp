// tests/integration/persistence/conformance_history.hpp -- jobs that ended long
// ago go. Included once by the suite of each store.
#include "conformance_fixture.hpp"

namespace conformance_history {

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("only jobs of the type that ended long enough ago are deleted") {
  auto completed = add();
  complete(start());
  auto failed = add();
  fail(start());
  auto cancelled = add();
  get<changed>(cancel_write{cancelled.id});
  auto running = add();
  start();
  auto waiting = add();
  auto other = add(new_job("OTHER"));
  get<changed>(cancel_write{other.id});
  CHECK_EQ(get<pruned>(prune_write{"TEST", std::chrono::hours{1}}).jobs, 0u);
  CHECK_EQ(backend.number("SELECT count(*) FROM job"), 6);
  auto got = get<pruned>(prune_write{"TEST"});
  CHECK_EQ(got.jobs, 3u);
  CHECK(!got.next_after_seq);
  for (const auto& x : {completed, failed, cancelled}) {
    CHECK(!store->find_job(x.id));
    CHECK(store->attempts_of(x.id).empty());
  }
  CHECK_EQ(state(running), "PROCESSING");
  CHECK_EQ(state(waiting), "PENDING");
  CHECK_EQ(state(other), "CANCELLED");
  CHECK_EQ(backend.number("SELECT count(*) FROM job_attempts"), 0);
  AND("they are no longer counted") {
    CHECK_EQ(backend.number("SELECT coalesce(sum(jobs), 0) FROM finished_counts"
                            " WHERE job_type = 'TEST'"),
             0);
  }
}

SCENARIO("what a job made stays when it goes") {
  auto x = new_scrap_job();
  add(x);
  auto running = start();
  auto end = ending(running, run_outcome::completed, verdict::complete);
  end.effects.push_back(card_for(running));
  get<changed>(end);
  CHECK_EQ(get<pruned>(prune_write{"CARD_ANALYSIS"}).jobs, 1u);
  CHECK(!store->find_job(running.id));
  CHECK(store->find_scrap(x.target_id).has_value());
  CHECK_EQ(store->cards_of_scrap(x.target_id, 10).size(), 1u);
}

SCENARIO("a book still tells how it ended when its job's time is over") {
  auto x = new_book_job(), y = new_book_job();
  add(x);
  complete(start());
  add(y);
  fail(start());
  CHECK_EQ(get<pruned>(prune_write{"BOOK_GENERATION"}).jobs, 1u);
  auto book = store->find_content(x.target_id);
  REQUIRE(book.has_value());
  CHECK(book->status == job_status::completed);
  book = store->find_content(y.target_id);
  REQUIRE(book.has_value());
  CHECK(book->status == job_status::failed);
}

SCENARIO("a long history goes page by page") {
  for (int i = 0; i < 7; ++i) {
    add();
    auto running = start();
    if (i != 3)
      complete(running);
  }
  prune_write page{"TEST", ms{0}, 0, 3};
  std::vector<uint32_t> sizes;
  for (;;) {
    auto got = get<pruned>(page);
    sizes.push_back(got.jobs);
    if (!got.next_after_seq)
      break;
    CHECK_GT(*got.next_after_seq, page.after_seq);
    page.after_seq = *got.next_after_seq;
    REQUIRE_LE(sizes.size(), 7u);
  }
  CHECK_EQ(sizes, (std::vector<uint32_t>{3, 2, 1}));
  CHECK_EQ(backend.number("SELECT count(*) FROM job"), 1);
}

SCENARIO("a page of young jobs is the last one") {
  for (int i = 0; i < 3; ++i) {
    add();
    complete(start());
  }
  auto got = get<pruned>(prune_write{"TEST", std::chrono::hours{1}, 0, 2});
  CHECK_EQ(got.jobs, 0u);
  CHECK(!got.next_after_seq);
}

SCENARIO("retention that no clock reaches deletes nothing") {
  add();
  complete(start());
  CHECK_EQ(get<pruned>(prune_write{"TEST", ms::max()}).jobs, 0u);
  CHECK_EQ(get<pruned>(prune_write{"NOBODY"}).jobs, 0u);
  CHECK_EQ(refused(prune_write{std::string("a\0b", 3)}), "invalid_argument");
}

SCENARIO("a pruned job is asked for again without harm") {
  add();
  complete(start());
  CHECK_EQ(get<pruned>(prune_write{"TEST"}).jobs, 1u);
  CHECK_EQ(get<pruned>(prune_write{"TEST"}, true).jobs, 0u);
}

END_FIXTURE_SCOPE()

} // namespace conformance_history
