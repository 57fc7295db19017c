// tests/unit/actors/executor.test.cpp -- whatever a processor does becomes one
// report.
#define CAF_SUITE actors.executor

#include "actors/executor.hpp"

#include "support/actor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <functional>
#include <stdexcept>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

class lambda_processor : public processor {
public:
  using function = std::function<outcome(job_context&)>;

  explicit lambda_processor(function f) : f_(std::move(f)) {
    // nop
  }

  outcome run(job_context& context) override {
    return f_(context);
  }

private:
  function f_;
};

std::shared_ptr<processor_registry> registry_with(
  lambda_processor::function f) {
  auto result = std::make_shared<processor_registry>();
  result->add("CARD_ANALYSIS",
              std::make_shared<lambda_processor>(std::move(f)));
  return result;
}

struct slot_log {
  std::vector<run_report> reports;
  std::vector<run_progress> progress;
};

// As much of a job actor as an executor sees.
reeve::job_actor::behavior_type fake_slot(std::shared_ptr<slot_log> log) {
  return {
    [](status_atom) { return actor_report{}; },
    [](run_atom, const run_bundle_ptr&) {},
    [](interrupt_atom, int64_t, int64_t) {},
    [log](const run_news& x) {
      for (auto& report : x.of->take_reports())
        log->reports.push_back(std::move(report));
    },
    [log](const run_progress& x) { log->progress.push_back(x); },
    [](timeout_atom, uint64_t) {},
    [](flush_atom, uint64_t) {},
  };
}

struct fixture : test::actor_fixture {
  std::shared_ptr<slot_log> heard = std::make_shared<slot_log>();
  reeve::job_actor slot;
  std::stop_source control;

  fixture() {
    slot = adopt(sys.spawn(fake_slot, heard));
  }

  // Attached: the test scheduler runs it, and blocks while it works.
  outcome run(lambda_processor::function f, job what = test::make_claimed(1)) {
    auto uut = adopt(
      sys.spawn<executor_impl>(slot, run_services_actor{}, registry_with(f)));
    auto before = heard->reports.size();
    caf::anon_send(uut, run_atom_v, test::bundle_of({{what, control, 1min}}));
    settle();
    CHECK(!is_dead(uut));
    CAF_REQUIRE_EQUAL(heard->reports.size(), before + 1);
    CHECK_EQ(heard->reports.back().seq, what.seq);
    CHECK_EQ(heard->reports.back().run, what.run);
    return heard->reports.back().result;
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("a processor sees its job and returns its outcome") {
  auto result = run([](job_context& context) {
    return outcome::completed({{"target", context.current().target_id}});
  });
  CHECK(result.kind == run_outcome::completed);
  CHECK(result.result == nlohmann::json({{"target", "target-1"}}));
}

SCENARIO("an outcome other than completed passes unchanged") {
  auto result = run([](job_context&) {
    return outcome::provider_down("connection refused", 3s);
  });
  CHECK(result.kind == run_outcome::provider_down);
  CHECK_EQ(result.message, "connection refused");
  CHECK(result.delay == 3s);
}

SCENARIO("an exception is a failure with its text") {
  auto result = run([](job_context&) -> outcome {
    throw std::runtime_error("the model answered in Latin");
  });
  CHECK(result.kind == run_outcome::failed);
  CHECK_EQ(result.message, "the model answered in Latin");
}

SCENARIO("something that is no exception is a failure too") {
  auto result = run([](job_context&) -> outcome { throw 42; });
  CHECK(result.kind == run_outcome::failed);
  CHECK(!result.message.empty());
}

SCENARIO("a run may be ended from anywhere inside its processor") {
  auto result = run([](job_context&) -> outcome {
    throw run_ended{outcome::throttled("429", 7s)};
  });
  CHECK(result.kind == run_outcome::throttled);
  CHECK_EQ(result.message, "429");
  CHECK(result.delay == 7s);
}

SCENARIO("a run that was told to stop ends where it waits") {
  control.request_stop();
  auto result = run([](job_context& context) {
    context.find_scrap("scrap-1");
    return outcome::completed({});
  });
  CHECK(result.kind == run_outcome::cancelled);
}

SCENARIO("a type that this node does not know fails for good") {
  auto what = test::make_claimed(1);
  what.type = "no.such.type";
  auto called = false;
  auto result = run(
    [&called](job_context&) {
      called = true;
      return outcome::completed({});
    },
    what);
  CHECK(!called);
  CHECK(result.kind == run_outcome::failed_permanently);
  CHECK(result.message.find("no.such.type") != std::string::npos);
}

SCENARIO("one executor runs many jobs, whatever the last one did") {
  auto uut = adopt(
    sys.spawn<executor_impl>(slot, run_services_actor{},
                             registry_with([](job_context& context) -> outcome {
                               if (context.current().seq % 2 == 1)
                                 throw std::runtime_error("odd");
                               return outcome::completed({});
                             })));
  for (auto seq : {1, 2, 3, 4})
    caf::anon_send(uut, run_atom_v,
                   test::bundle_of({{test::make_claimed(seq), control, 1min}}));
  settle();
  REQUIRE_EQ(heard->reports.size(), 4u);
  CHECK(heard->reports[0].result.kind == run_outcome::failed);
  CHECK(heard->reports[1].result.kind == run_outcome::completed);
  CHECK(heard->reports[2].result.kind == run_outcome::failed);
  CHECK(heard->reports[3].result.kind == run_outcome::completed);
}

SCENARIO("progress is kept between 0 and 100") {
  run([](job_context& context) {
    context.progress(-5, "begin");
    context.progress(50, "half");
    context.progress(1'000, "end");
    return outcome::completed({});
  });
  REQUIRE_EQ(heard->progress.size(), 3u);
  CHECK_EQ(heard->progress[0].percent, 0);
  CHECK_EQ(heard->progress[0].message, "begin");
  CHECK_EQ(heard->progress[1].percent, 50);
  CHECK_EQ(heard->progress[2].percent, 100);
  CHECK_EQ(heard->progress[2].seq, 1);
  CHECK_EQ(heard->progress[2].run, 1);
}

END_FIXTURE_SCOPE()
