// tests/unit/actors/job_actor.test.cpp -- one slot, with an executor that does
// what the test says.
#define CAF_SUITE actors.job_actor

#include "actors/job_actor.hpp"

#include "support/actor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

struct owner_log {
  std::vector<run_report> reports;
  std::vector<int64_t> returned;
  std::vector<progress_write> progress;
};

struct executor_log {
  std::vector<executor_actor> spawned;
  /// What each executor was given to run.
  std::vector<std::pair<size_t, assignment>> runs;
  run_bundle_ptr bundle;
  size_t ended = 0;
};

struct fixture : test::actor_fixture {
  std::shared_ptr<owner_log> heard = std::make_shared<owner_log>();
  std::shared_ptr<executor_log> executors = std::make_shared<executor_log>();
  run_owner_actor owner;
  reeve::job_actor uut;

  fixture() {
    owner = adopt(sys.spawn([log = heard]() -> run_owner_actor::behavior_type {
      return {
        [log](const run_reports& x) {
          for (const auto& one : x.ended)
            log->reports.push_back(one);
          for (auto one : x.returned)
            log->returned.push_back(one.first);
        },
        [log](const progress_write& x) {
          log->progress.push_back(x);
          return changed{};
        },
      };
    }));
    auto make_executor = [this, log = executors](const reeve::job_actor&) {
      auto index = log->spawned.size();
      auto fake =
        [log,
         index](executor_actor::pointer self) -> executor_actor::behavior_type {
        self->attach_functor([log] { ++log->ended; });
        return {[self, log, index](run_atom, const run_bundle_ptr& x) {
          log->bundle = x;
          log->runs.emplace_back(index, *x->begin_next(self->clock().now()));
        }};
      };
      log->spawned.push_back(adopt(sys.spawn(fake)));
      return log->spawned.back();
    };
    uut = adopt(sys.spawn<job_actor_impl>(
      owner, make_executor,
      job_actor_options{.wedged_grace = 5s, .progress_interval = 100ms}));
    settle();
  }

  std::stop_source start(int64_t seq, std::chrono::milliseconds timeout = 60s) {
    return start_all({seq}, timeout).front();
  }

  std::vector<std::stop_source> start_all(
    std::vector<int64_t> seqs, std::chrono::milliseconds timeout = 60s) {
    std::vector<std::stop_source> result;
    std::vector<assignment> runs;
    for (auto seq : seqs) {
      result.push_back(std::stop_source{});
      runs.push_back({test::make_claimed(seq), result.back(), timeout});
    }
    caf::anon_send(uut, run_atom_v, test::bundle_of(std::move(runs)));
    settle();
    return result;
  }

  // The executor ends what it is at and begins the next; it tells its slot.
  void end_one(outcome result, bool tells = true) {
    auto now = sched.clock().now();
    if (executors->bundle->finish(std::move(result), now))
      executors->bundle->begin_next(now);
    if (tells)
      tell(executors->bundle);
  }

  void tell(const run_bundle_ptr& bundle) {
    caf::anon_send(uut, run_news{bundle});
    settle();
  }

  void end(int64_t seq, outcome result) {
    auto current = executors->bundle->current();
    CAF_REQUIRE(current.has_value());
    CHECK_EQ(current->what->job.seq, seq);
    end_one(std::move(result));
  }

  void progress(int64_t seq, int percent) {
    caf::anon_send(uut, run_progress{seq, 1, percent, std::to_string(percent)});
    settle();
  }

  void interrupt(int64_t seq, int64_t run = 1) {
    caf::anon_send(uut, interrupt_atom_v, seq, run);
    settle();
  }

  actor_report status() {
    auto answer = ask<actor_report>(uut, status_atom_v);
    settle();
    CAF_REQUIRE(answer->value.has_value());
    return *answer->value;
  }

  const outcome& last_outcome() {
    CAF_REQUIRE(!heard->reports.empty());
    return heard->reports.back().result;
  }

  std::vector<int> percents() const {
    std::vector<int> result;
    for (const auto& x : heard->progress)
      result.push_back(x.percent);
    return result;
  }
};

using ints = std::vector<int>;

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

// -- ends ---------------------------------------------------------------------

SCENARIO("a run goes to the executor and its end to the owner") {
  CHECK_EQ(status().state, "idle");
  start(1);
  REQUIRE_EQ(executors->runs.size(), 1u);
  CHECK_EQ(executors->runs[0].second.job.id, "job-1");
  CHECK_EQ(status().state, "running");
  auto busy = status();
  REQUIRE(busy.job.has_value());
  CHECK_EQ(busy.job->id, "job-1");
  CHECK_EQ(busy.job->type, "CARD_ANALYSIS");
  AND("its executor stands below it, at the same job") {
    REQUIRE_EQ(busy.children.size(), 1u);
    const auto& executor = busy.children[0];
    CHECK_EQ(executor.name, "executor");
    CHECK_EQ(executor.id, executors->spawned[0].id());
    CHECK_EQ(executor.state, "running");
    REQUIRE(executor.job.has_value());
    CHECK_EQ(executor.job->id, "job-1");
    CHECK_EQ(executor.restarts, 0u);
  }
  CHECK(heard->reports.empty());
  auto result = outcome::completed({{"n", 1}});
  result.effects.push_back(test::make_card("card-1"));
  end(1, result);
  REQUIRE_EQ(heard->reports.size(), 1u);
  CHECK_EQ(heard->reports[0].seq, 1);
  CHECK_EQ(heard->reports[0].run, 1);
  CHECK(last_outcome().kind == run_outcome::completed);
  CHECK(last_outcome().result == nlohmann::json({{"n", 1}}));
  REQUIRE_EQ(last_outcome().effects.size(), 1u);
  const auto* card = std::get_if<knowledge_card>(&last_outcome().effects[0]);
  REQUIRE_NE(card, nullptr);
  CHECK_EQ(card->id, "card-1");
  CHECK_EQ(status().state, "idle");
  CHECK(!status().job);
}

SCENARIO("a failure keeps its text and what the processor asked for") {
  start(1);
  end(1, outcome::failed("model said: \xf0\x9f\x92\xa5"));
  CHECK(last_outcome().kind == run_outcome::failed);
  CHECK_EQ(last_outcome().message, "model said: \xf0\x9f\x92\xa5");
  start(2);
  end(2, outcome::throttled("429", 7s));
  CHECK(last_outcome().kind == run_outcome::throttled);
  CHECK(last_outcome().delay == 7s);
}

SCENARIO("news of another bundle is ignored") {
  start(2);
  auto other =
    test::bundle_of({{test::make_claimed(1), std::stop_source{}, 60s}});
  other->begin_next(sched.clock().now());
  other->finish(outcome::completed({}), sched.clock().now());
  tell(other);
  CHECK(heard->reports.empty());
  end(2, outcome::completed({}));
  tell(executors->bundle);
  CHECK_EQ(heard->reports.size(), 1u);
}

// -- bundles ------------------------------------------------------------------

using seqs = std::vector<int64_t>;

SCENARIO("runs of a bundle are reported as they end, and free the slot") {
  start_all({1, 2, 3});
  end_one(outcome::completed({}), false);
  CHECK(heard->reports.empty());
  pass(10ms);
  end_one(outcome::failed("no"));
  REQUIRE_EQ(heard->reports.size(), 2u);
  CHECK_EQ(heard->reports[0].seq, 1);
  CHECK(heard->reports[0].took == 0ms);
  CHECK_EQ(heard->reports[1].seq, 2);
  CHECK(heard->reports[1].took == 10ms);
  CHECK_EQ(status().state, "running");
  REQUIRE(status().job.has_value());
  CHECK_EQ(status().job->id, "job-3");
  end_one(outcome::completed({}));
  CHECK_EQ(heard->reports.size(), 3u);
  CHECK_EQ(status().state, "idle");
  CHECK(heard->returned.empty());
}

SCENARIO("what a slow run keeps waiting goes back, and what ended is told") {
  start_all({1, 2, 3, 4});
  end_one(outcome::completed({}), false);
  pass(199ms);
  CHECK(heard->reports.empty());
  CHECK(heard->returned.empty());
  pass(1ms);
  REQUIRE_EQ(heard->reports.size(), 1u);
  CHECK_EQ(heard->reports[0].seq, 1);
  CHECK(heard->returned == (seqs{3, 4}));
  CHECK_EQ(status().state, "running");
  end_one(outcome::completed({}));
  CHECK_EQ(heard->reports.size(), 2u);
  CHECK_EQ(status().state, "idle");
}

SCENARIO("a run that was told to stop before it began stops no other") {
  auto controls = start_all({1, 2});
  interrupt(2);
  CHECK(!controls[0].stop_requested());
  CHECK(controls[1].stop_requested());
  CHECK_EQ(status().state, "running");
  pass(10s);
  CHECK_EQ(executors->spawned.size(), 1u);
}

SCENARIO("each run of a bundle has its own timeout") {
  auto controls = start_all({1, 2}, 100ms);
  pass(90ms);
  end_one(outcome::completed({}));
  pass(99ms);
  CHECK(!controls[1].stop_requested());
  pass(1ms);
  CHECK(controls[1].stop_requested());
  end_one(outcome::cancelled());
  CHECK(last_outcome().kind == run_outcome::timed_out);
}

SCENARIO("a wedged run takes nobody of its bundle with it") {
  start_all({1, 2, 3}, 100ms);
  end_one(outcome::completed({{"n", 1}}), false);
  pass(100ms);
  pass(5s);
  CHECK_EQ(executors->spawned.size(), 2u);
  REQUIRE_EQ(heard->reports.size(), 2u);
  CHECK(heard->reports[0].result.kind == run_outcome::completed);
  CHECK(last_outcome().kind == run_outcome::timed_out);
  CHECK(heard->returned == seqs{3});
  CHECK_EQ(status().state, "idle");
}

// -- progress -----------------------------------------------------------------

SCENARIO("the first report of progress is passed on at once") {
  start(1);
  progress(1, 10);
  REQUIRE_EQ(heard->progress.size(), 1u);
  CHECK_EQ(heard->progress[0].seq, 1);
  CHECK_EQ(heard->progress[0].run, 1);
  CHECK_EQ(heard->progress[0].percent, 10);
  CHECK_EQ(heard->progress[0].message, "10");
}

SCENARIO("reports that come faster than ten a second are merged") {
  start(1);
  for (auto percent : {10, 20, 30})
    progress(1, percent);
  CHECK(percents() == ints{10});
  pass(99ms);
  CHECK(percents() == ints{10});
  pass(1ms);
  CHECK(percents() == (ints{10, 30}));
  progress(1, 40);
  CHECK(percents() == (ints{10, 30}));
  pass(100ms);
  CHECK(percents() == (ints{10, 30, 40}));
  AND("after a pause the next one is passed on at once") {
    pass(100ms);
    progress(1, 50);
    CHECK(percents() == (ints{10, 30, 40, 50}));
  }
}

SCENARIO("progress of a run that is over is dropped") {
  start(1);
  progress(1, 10);
  progress(1, 20);
  end(1, outcome::completed({}));
  progress(1, 30);
  start(2);
  pass(100ms);
  CHECK(percents() == ints{10});
  AND("the next run's first report is not held back by the last one's") {
    progress(2, 5);
    CHECK(percents() == (ints{10, 5}));
  }
}

// -- timeouts and interrupts --------------------------------------------------

SCENARIO("a run that takes too long is told to stop, then has timed out") {
  auto control = start(1, 10s);
  pass(9'999ms);
  CHECK(!control.stop_requested());
  pass(1ms);
  CHECK(control.stop_requested());
  CHECK_EQ(status().state, "stopping");
  CHECK(heard->reports.empty());
  WHEN("the processor gives up with whatever it says") {
    end(1, outcome::cancelled());
    THEN("the report names the timeout") {
      CHECK(last_outcome().kind == run_outcome::timed_out);
      CHECK_EQ(last_outcome().message, "Timed out after 10000 ms");
    }
  }
  AND("the executor is kept") {
    pass(1min);
    CHECK_EQ(executors->spawned.size(), 1u);
    CHECK_EQ(heard->reports.size(), 1u);
  }
}

SCENARIO("a run that completes in spite of its timeout counts") {
  start(1, 10s);
  pass(10s);
  end(1, outcome::completed({{"paid", true}}));
  CHECK(last_outcome().kind == run_outcome::completed);
  CHECK(last_outcome().result == nlohmann::json({{"paid", true}}));
}

SCENARIO("a timeout of zero is none") {
  auto control = start(1, 0ms);
  pass(24h);
  CHECK(!control.stop_requested());
}

SCENARIO("an executor that ignores the stop is abandoned after the grace") {
  start(1, 10s);
  pass(10s);
  pass(4'999ms);
  CHECK_EQ(executors->spawned.size(), 1u);
  CHECK(heard->reports.empty());
  pass(1ms);
  CHECK(last_outcome().kind == run_outcome::timed_out);
  CHECK(last_outcome().message.find("5000 ms") != std::string::npos);
  REQUIRE_EQ(executors->spawned.size(), 2u);
  CHECK(is_dead(executors->spawned[0]));
  auto after = status();
  CHECK_EQ(after.last_error, "1 executors abandoned");
  REQUIRE_EQ(after.children.size(), 1u);
  CHECK_EQ(after.children[0].id, executors->spawned[1].id());
  CHECK_EQ(after.children[0].restarts, 1u);
  REQUIRE_EQ(after.children[0].restart_history.size(), 1u);
  CHECK_EQ(after.children[0].restart_history[0].reason,
           "job job-1 ignored the request to stop");
  CHECK(!is_dead(uut));
  AND("its late report is ignored, and the next run has a fresh one") {
    auto late = executors->bundle;
    late->finish(outcome::completed({}), sched.clock().now());
    tell(late);
    CHECK_EQ(heard->reports.size(), 1u);
    start(2);
    CHECK_EQ(executors->runs.back().first, 1u);
    tell(late);
    CHECK_EQ(heard->reports.size(), 1u);
    end(2, outcome::completed({}));
    CHECK_EQ(heard->reports.size(), 2u);
  }
}

SCENARIO("an interrupt stops the run it names, and no other") {
  auto control = start(1);
  interrupt(2);
  interrupt(1, 2);
  CHECK(!control.stop_requested());
  interrupt(1);
  CHECK(control.stop_requested());
  CHECK_EQ(status().state, "stopping");
  end(1, outcome::cancelled());
  CHECK(last_outcome().kind == run_outcome::cancelled);
  AND("an idle slot does not care") {
    interrupt(1);
    CHECK_EQ(status().state, "idle");
  }
}

SCENARIO("an interrupted run that ignores it is abandoned as cancelled") {
  start(1, 1h);
  interrupt(1);
  interrupt(1);
  pass(5s);
  CHECK(last_outcome().kind == run_outcome::cancelled);
  CHECK_EQ(heard->reports.size(), 1u);
  CHECK_EQ(executors->spawned.size(), 2u);
}

SCENARIO("an interrupt just before the timeout leaves the whole grace") {
  start(1, 10s);
  pass(9'999ms);
  interrupt(1);
  pass(1ms);
  CHECK(heard->reports.empty());
  pass(4'998ms);
  CHECK(heard->reports.empty());
  CHECK_EQ(executors->spawned.size(), 1u);
  pass(1ms);
  CHECK(last_outcome().kind == run_outcome::cancelled);
  CHECK_EQ(executors->spawned.size(), 2u);
}

SCENARIO("timers of an earlier run do not hit the next one") {
  start(1, 10s);
  pass(9s);
  end(1, outcome::completed({}));
  auto second = start(2, 10s);
  pass(9s);
  CHECK(!second.stop_requested());
  interrupt(2);
  end(2, outcome::cancelled());
  auto third = start(3, 10s);
  pass(5s);
  CHECK(!third.stop_requested());
  CHECK_EQ(heard->reports.size(), 2u);
  CHECK_EQ(executors->spawned.size(), 1u);
  pass(5s);
  CHECK(third.stop_requested());
}

// -- deaths -------------------------------------------------------------------

SCENARIO("a killed job actor stops its run and ends its executor") {
  auto control = start(1);
  kill(uut);
  settle();
  CHECK(is_dead(uut));
  CHECK(control.stop_requested());
  CHECK_EQ(executors->ended, 1u);
}

SCENARIO("a slot whose executor died ends with it") {
  auto control = start(1);
  kill(executors->spawned[0]);
  settle();
  CHECK(is_dead(uut));
  CHECK(control.stop_requested());
  CHECK(heard->reports.empty());
}

END_FIXTURE_SCOPE()
