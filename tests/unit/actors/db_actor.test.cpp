// tests/unit/actors/db_actor.test.cpp -- group commit, and a database that
// goes away and comes back.
#define CAF_SUITE actors.db_actor

#include "db_actor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace reeve::test;
using namespace std::chrono_literals;

BEGIN_FIXTURE_SCOPE(db_fixture)

// -- group commit -------------------------------------------------------------

SCENARIO("an idle node commits a write at once, without a timer") {
  auto answer = enqueue(1);
  settle();
  REQUIRE(answer->value.has_value());
  CHECK_EQ(answer->value->job.id, "job-1");
  CHECK(batch_sizes() == sizes{1});
  CHECK(!sched.has_pending_timeout());
}

SCENARIO("what queues up during a commit becomes one transaction") {
  std::vector<test::reply_ptr<enqueued>> answers;
  for (auto i = 1; i <= 10; ++i)
    answers.push_back(enqueue(i));
  settle();
  CHECK(batch_sizes() == sizes{10});
  for (const auto& x : answers)
    CHECK(x->value.has_value());
  AND("changes are published once, in one message") {
    CHECK_EQ(published->size(), 1u);
    CHECK_EQ(changes(), 10u);
  }
}

SCENARIO("a claim that joins the next write makes no transaction of its own") {
  auto joining = [this](int64_t token) {
    return ask<claimed>(
      uut, caf::join_atom_v,
      claim_write{{"node", 1}, {{"CARD_ANALYSIS", 1}}, 1, 30s, token});
  };
  auto got = joining(1);
  settle();
  CHECK(got->is_open());
  CHECK(db->batches.empty());
  auto added = enqueue(1);
  settle();
  CHECK(batch_sizes() == sizes{2});
  CHECK(added->value.has_value());
  REQUIRE(got->value.has_value());
  CHECK_EQ(got->value->jobs.size(), 1u);
  CHECK(!sched.has_pending_timeout());
  AND("it is refused while the database is away") {
    db->down = true;
    enqueue(2);
    settle();
    CHECK_EQ(status().state, "away");
    auto late = joining(2);
    settle();
    CHECK(!late->is_open());
    CHECK(!late->value.has_value());
  }
}

SCENARIO("a job waits for the claim that is on its way, but not long") {
  auto joining = [this](int n) {
    return ask<enqueued>(uut, caf::join_atom_v, new_job(n));
  };
  auto added = joining(1);
  settle();
  CHECK(added->is_open());
  CHECK(db->batches.empty());
  WHEN("the claim comes") {
    auto got = claim(1, 1);
    settle();
    THEN("both are one transaction") {
      CHECK(batch_sizes() == sizes{2});
      CHECK(added->value.has_value());
      REQUIRE(got->value.has_value());
      CHECK_EQ(got->value->jobs.size(), 1u);
    }
  }
  WHEN("none comes") {
    auto late = joining(2);
    settle();
    CHECK(late->is_open());
    pass(db_actor_options{}.patience);
    THEN("it goes alone") {
      CHECK_EQ(db->batches.back().size(), 1u);
      CHECK(late->value.has_value());
      pass(1s);
      CHECK_EQ(db->batches.size(), 2u);
    }
  }
}

SCENARIO("while jobs come one after the other, ends share their transactions") {
  auto run = running_job();
  jobs_come_often();
  WHEN("another job comes soon") {
    pass(2ms);
    auto ended = end(run);
    settle();
    CHECK(ended->is_open());
    CHECK(db->batches.empty());
    pass(2ms);
    enqueue(4);
    settle();
    THEN("one transaction does for both, and none follows") {
      CHECK(batch_sizes() == sizes{2});
      CHECK(ended->value.has_value());
      pass(1s);
      CHECK_EQ(db->batches.size(), 1u);
    }
  }
}

SCENARIO("an end does not wait for a job that does not come") {
  auto run = running_job();
  jobs_come_often();
  auto ended = end(run);
  settle();
  CHECK(db->batches.empty());
  pass(db_actor_options{}.patience);
  CHECK(batch_sizes() == sizes{1});
  CHECK(ended->value.has_value());
  AND("nor do those that follow") {
    enqueue(3);
    pass(2ms);
    enqueue(4);
    settle();
    db->batches.clear();
    // Refused, since it has ended: when it is tried is what counts here.
    end(run);
    settle();
    CHECK(batch_sizes() == sizes{1});
  }
  AND("nor when the last job came long ago") {
    jobs_come_often();
    pass(1s);
    end(run);
    settle();
    CHECK(batch_sizes() == sizes{1});
  }
  AND("nor one that brings more than its result, or is repeated") {
    jobs_come_often();
    auto failed = end_of(run);
    failed.decision = verdict::fail;
    ask<settled>(uut, settle_list{failed}, false);
    settle();
    CHECK(batch_sizes() == sizes{1});
    jobs_come_often();
    end(run, true);
    settle();
    CHECK(batch_sizes() == sizes{1});
  }
}

SCENARIO("what waits for company outlives an outage") {
  auto run = running_job();
  jobs_come_often();
  auto ended = end(run);
  auto added = ask<enqueued>(uut, caf::join_atom_v, new_job(4));
  settle();
  CHECK(ended->is_open());
  db->down = true;
  pass(db_actor_options{}.patience);
  CHECK_EQ(status().state, "away");
  db->down = false;
  pass(50ms);
  CHECK(ended->value.has_value());
  CHECK(added->value.has_value());
}

SCENARIO("nobody hears of a write before its commit") {
  inject((enqueue_write), from(self).to(uut).with(new_job(1)));
  disallow((enqueued), from(uut).to(self));
  CHECK(db->batches.empty());
  CHECK(published->empty());
  expect((flush_atom), from(uut).to(uut));
  expect((committed_changes), from(uut).to(sink));
  expect((enqueued), from(uut).to(self));
}

SCENARIO("a transaction has at most so many writes") {
  start({.max_batch = 4});
  std::vector<test::reply_ptr<enqueued>> answers;
  for (auto i = 1; i <= 10; ++i)
    answers.push_back(enqueue(i));
  settle();
  CHECK(batch_sizes() == (sizes{4, 4, 2}));
  for (const auto& x : answers)
    CHECK(x->value.has_value());
}

SCENARIO("a write that the store refuses fails alone") {
  auto bad = new_job(2);
  bad.target_id.clear();
  auto first = enqueue(1);
  auto refused = ask<enqueued>(uut, bad);
  auto missing = ask<changed>(uut, cancel_write{"no such job"});
  auto gone = ask<done>(uut, delete_scrap_write{"no such scrap"});
  auto last = enqueue(3);
  settle();
  CHECK(batch_sizes() == sizes{5});
  CHECK(first->value.has_value());
  CHECK(last->value.has_value());
  CHECK_EQ(refused->err, ec::invalid_argument);
  CHECK_EQ(missing->err, ec::not_found);
  CHECK_EQ(gone->err, ec::not_found);
  CHECK_EQ(changes(), 2u);
}

SCENARIO("all refusals have their error") {
  std::pair<refusal_code, ec> cases[] = {
    {refusal_code::invalid_argument, ec::invalid_argument},
    {refusal_code::not_found, ec::not_found},
    {refusal_code::conflict, ec::conflict},
    {refusal_code::lease_lost, ec::lease_lost},
    {refusal_code::key_reused, ec::key_reused},
  };
  for (auto [code, error] : cases) {
    db->script = [code = code](const write_entry&) {
      return refusal{code, "because"};
    };
    auto answer = enqueue(1);
    settle();
    CHECK_EQ(answer->err, error);
    CHECK(to_string(answer->err).find("because") != std::string::npos);
  }
}

SCENARIO("an answer of the wrong kind is an error, not a crash") {
  db->script = [](const write_entry&) { return done{}; };
  auto answer = enqueue(1);
  settle();
  CHECK_EQ(answer->err, caf::sec::runtime_error);
  CHECK(!is_dead(uut));
}

SCENARIO("only real changes are published") {
  auto with_key = new_job(1);
  with_key.unique_key = "key";
  ask<enqueued>(uut, with_key);
  settle();
  CHECK_EQ(changes(), 1u);
  WHEN("the same key comes again") {
    with_key.id = "job-2";
    auto again = ask<enqueued>(uut, with_key);
    settle();
    CHECK(again->value->kind == enqueue_kind::deduplicated);
    CHECK_EQ(changes(), 1u);
  }
  WHEN("a claim finds nothing, leases are renewed, nothing is stale") {
    db->jobs.clear();
    claim(1, 3);
    ask<renewed>(uut, heartbeat_write{{"node", 1}, 30s});
    ask<rescued>(uut, rescue_write{{"node", 1}, 10});
    settle();
    CHECK_EQ(changes(), 1u);
  }
}

SCENARIO("a job's changes within one transaction are published in order") {
  auto cancelled = ask<changed>(uut, cancel_write{"job-1"});
  auto added = enqueue(1);
  settle();
  CHECK(batch_sizes() == sizes{2});
  REQUIRE_EQ(published->size(), 1u);
  const auto& jobs = published->front().jobs;
  REQUIRE_EQ(jobs.size(), 2u);
  CHECK(jobs[0].status() == job_status::pending);
  CHECK(jobs[1].status() == job_status::cancelled);
  CHECK(jobs[0].version() < jobs[1].version());
  CHECK(!published->front().leaves_due_work);
}

SCENARIO("what a claim took is due for nobody, and its sender's to tell") {
  WHEN("a job is added and nobody takes it") {
    enqueue(1);
    settle();
    REQUIRE_EQ(published->size(), 1u);
    CHECK(published->front().leaves_due_work);
  }
  published->clear();
  WHEN("two are added and the claim of the same transaction takes all") {
    claim(1, 3);
    enqueue(2);
    enqueue(3);
    settle();
    REQUIRE_EQ(published->size(), 1u);
    REQUIRE_EQ(published->front().jobs.size(), 2u);
    for (const auto& x : published->front().jobs)
      CHECK(x.status() == job_status::pending);
    CHECK(!published->front().leaves_due_work);
  }
  published->clear();
  WHEN("it takes one of two") {
    claim(2, 1);
    enqueue(4);
    enqueue(5);
    settle();
    REQUIRE_EQ(published->size(), 1u);
    CHECK(published->front().leaves_due_work);
  }
}

// -- outages ------------------------------------------------------------------

SCENARIO("a cut connection to a healthy server costs nobody anything") {
  for (auto where : {fault::before_commit, fault::after_commit}) {
    db->apply_faults = {{db->batches.size() + 1, where}};
    auto sofar = db->batches.size();
    auto base = static_cast<int>(sofar) * 10;
    auto one = enqueue(base + 1);
    auto two = enqueue(base + 2);
    settle();
    CHECK(one->value.has_value());
    CHECK(two->value.has_value());
    REQUIRE_EQ(db->batches.size(), sofar + 2);
    for (const auto& x : db->batches[sofar])
      CHECK(!x.repeated);
    for (const auto& x : db->batches[sofar + 1])
      CHECK(x.repeated);
    CHECK(db->find("job-" + std::to_string(base + 1)) != nullptr);
  }
  CHECK_EQ(db->reconnects, 2u);
  CHECK_EQ(db->jobs.size(), 4u);
  CHECK_EQ(changes(), 4u);
  pass(20ms);
  CHECK_EQ(db->announcements, 2u);
  CHECK(!sched.has_pending_timeout());
}

SCENARIO("everything in a lost batch is repeated as it was") {
  auto run = running_job();
  db->down = true;
  auto added = enqueue(2);
  auto ended = end(run);
  auto next = claim(2, 1);
  settle();
  CHECK(added->is_open());
  CHECK(ended->is_open());
  CHECK(next->is_open());
  CHECK_EQ(status().state, "away");
  db->down = false;
  pass(50ms);
  REQUIRE_EQ(db->batches.size(), 2u);
  REQUIRE_EQ(db->batches[1].size(), 3u);
  for (const auto& x : db->batches[1])
    CHECK(x.repeated);
  CHECK(std::holds_alternative<enqueue_write>(db->batches[1][0].what));
  CHECK(std::holds_alternative<settle_write>(db->batches[1][1].what));
  CHECK(std::holds_alternative<claim_write>(db->batches[1][2].what));
  CHECK(added->value.has_value());
  REQUIRE(ended->value.has_value());
  CHECK(!ended->value->refusals[0]);
  CHECK(db->find("job-1")->status == job_status::completed);
  CHECK_EQ(next->value->jobs.size(), 1u);
  CHECK_EQ(status().state, "idle");
}

SCENARIO("a commit in doubt is answered as if nothing had happened") {
  auto run = running_job();
  db->apply_faults = {{1, fault::after_commit}};
  auto ended = end(run);
  settle();
  REQUIRE(ended->value.has_value());
  CHECK(!ended->value->refusals[0]);
  CHECK(db->find("job-1")->status == job_status::completed);
  CHECK_EQ(db->find("job-1")->version, run.version + 1);
  CHECK_EQ(changes(), 1u);
}

SCENARIO("while the database is away, ends of runs wait and the rest fails") {
  auto run = running_job();
  db->down = true;
  enqueue(2);
  settle();
  auto tries = db->batches.size();
  auto ended = end(run);
  auto added = enqueue(3);
  auto next = claim(2, 1);
  auto cancelled = ask<changed>(uut, cancel_write{"job-1"});
  auto moved = ask<changed>(uut, progress_write{1, 1, 50, "half"});
  auto renewed_leases = ask<renewed>(uut, heartbeat_write{{"node", 1}, 30s});
  settle();
  CHECK_EQ(added->err, ec::store_unavailable);
  CHECK_EQ(next->err, ec::store_unavailable);
  CHECK_EQ(cancelled->err, ec::store_unavailable);
  CHECK_EQ(moved->err, ec::store_unavailable);
  CHECK_EQ(renewed_leases->err, ec::store_unavailable);
  CHECK(ended->is_open());
  CHECK_EQ(db->batches.size(), tries);
  db->down = false;
  pass(50ms);
  CHECK(ended->value.has_value());
  AND("the end that came during the outage was not tried before") {
    const auto& last = db->batches.back();
    REQUIRE_EQ(last.size(), 2u);
    CHECK(last[0].repeated);
    CHECK(!last[1].repeated);
  }
}

SCENARIO("what the database has against a prune keeps nothing else away") {
  db->apply_faults = {{1, fault::before_commit}, {2, fault::before_commit}};
  auto old = ask<pruned>(uut, prune_write{"TEST", 24h});
  auto added = enqueue(1);
  settle();
  CHECK(!old->value && !old->is_open());
  pass(50ms);
  CHECK(added->value.has_value());
  const auto& last = db->batches.back();
  REQUIRE_EQ(last.size(), 1u);
  CHECK(std::holds_alternative<enqueue_write>(last[0].what));
}

SCENARIO("the caller's word that a write is a repeat reaches the store") {
  enqueue(1);
  settle();
  auto first = claim(9, 1);
  settle();
  auto again = claim(9, 1, true);
  settle();
  CHECK(!db->batches[1][0].repeated);
  CHECK(db->batches[2][0].repeated);
  REQUIRE_EQ(again->value->jobs.size(), 1u);
  CHECK_EQ(again->value->jobs[0].run, first->value->jobs[0].run);
}

SCENARIO("reconnects back off to two seconds") {
  db->down = true;
  auto added = enqueue(1);
  settle();
  auto tries = 1u;
  CHECK_EQ(db->reconnects, tries);
  for (auto wait : {50ms, 100ms, 200ms, 400ms, 800ms, 1600ms, 2000ms, 2000ms}) {
    pass(wait - 1ms);
    CHECK_EQ(db->reconnects, tries);
    pass(1ms);
    CHECK_EQ(db->reconnects, ++tries);
  }
  db->down = false;
  pass(2s);
  CHECK(added->value.has_value());
  AND("the next outage starts at the first backoff again") {
    db->down = true;
    enqueue(2);
    settle();
    tries = static_cast<unsigned>(db->reconnects);
    pass(50ms);
    CHECK_EQ(db->reconnects, tries + 1);
  }
}

SCENARIO("a database that connects but cannot commit is not asked in a loop") {
  // A full disk: the round trip works, the write does not.
  for (size_t i = 1; i <= 6; ++i)
    db->apply_faults[i] = fault::before_commit;
  auto added = enqueue(1);
  settle();
  CHECK_EQ(db->batches.size(), 2u);
  CHECK_EQ(status().state, "away");
  auto refused = enqueue(2);
  settle();
  CHECK_EQ(refused->err, ec::store_unavailable);
  auto tries = 2u;
  for (auto wait : {50ms, 100ms, 200ms, 400ms}) {
    pass(wait - 1ms);
    CHECK_EQ(db->batches.size(), tries);
    pass(1ms);
    CHECK_EQ(db->batches.size(), ++tries);
  }
  pass(800ms);
  CHECK(added->value.has_value());
  CHECK_EQ(status().state, "idle");
}

SCENARIO("the status counts writes and tells of the last error") {
  CHECK_EQ(status().state, "idle");
  using counts = std::vector<std::pair<std::string_view, uint64_t>>;
  CHECK(status().counts == (counts{{"writes", 0}, {"commits", 0}}));
  enqueue(1);
  enqueue(2);
  settle();
  CHECK(status().counts == (counts{{"writes", 2}, {"commits", 1}}));
  THEN("it also tells what its transactions are like") {
    auto commits = status().commits;
    REQUIRE(commits.has_value());
    CHECK_EQ(commits->batch.count, 1u);
    CHECK_EQ(commits->batch.last, 2.0);
    CHECK_EQ(commits->queue.last, 2.0);
    CHECK_EQ(commits->seconds.count, 1u);
    enqueue(3);
    settle();
    commits = status().commits;
    CHECK_EQ(commits->batch.count, 2u);
    CHECK_EQ(commits->batch.last, 1.0);
    CHECK_EQ(commits->batch.sum, 3.0);
    CHECK_EQ(commits->batch.p50, 1.0);
    CHECK_EQ(commits->batch.p99, 2.0);
  }
  db->down = true;
  enqueue(3);
  settle();
  auto away = status();
  CHECK_EQ(away.state, "away");
  CHECK_EQ(away.mailbox, 1u);
  CHECK_EQ(away.last_error, "connection refused");
}

END_FIXTURE_SCOPE()
