// tests/unit/processors/steps.test.cpp -- work that is done once a job, and
// calls that others learn from.
#define CAF_SUITE processors.steps

#include "processors/model_calls.hpp"
#include "processors/processor.hpp"
#include "tests/unit/processors/fake_context.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <set>
#include <stdexcept>

using namespace reeve;
using namespace std::literals;

namespace {

struct fixture {
  fixture() : context("ANY", "target-1") {
    context.job_.run = 3;
  }

  nlohmann::json step(std::string_view name, const nlohmann::json& input,
                      nlohmann::json result = nullptr) {
    return context.step(name, input, [&] {
      ++done;
      step_result x;
      x.result = std::move(result);
      x.provider = "prose";
      x.model = "prose-1";
      x.used.input_tokens = 7;
      return x;
    });
  }

  test::fake_context context;
  int done = 0;
};

provider_answer<int> failed(run_outcome kind, lane_effect effect) {
  provider_answer<int> result;
  result.result = provider_failure{kind, "the reason", 7s, effect};
  result.used.input_tokens = 5;
  return result;
}

} // namespace

CAF_TEST_FIXTURE_SCOPE(steps_tests, fixture)

CAF_TEST(a step is done once and its result comes back) {
  CHECK_EQ(step("a", 1, "first"), nlohmann::json("first"));
  CHECK_EQ(step("a", 1, "second"), nlohmann::json("first"));
  CHECK_EQ(done, 1);
  REQUIRE_EQ(context.steps.size(), 1u);
  const auto& kept = context.steps.front().step;
  CHECK_EQ(kept.name, "a");
  CHECK_EQ(kept.input_hash.size(), 64u);
  CHECK_EQ(kept.provider, "prose");
  CHECK_EQ(kept.model, "prose-1");
  CHECK_EQ(kept.used.input_tokens, 7u);
  CHECK_EQ(kept.run, 3);
}

CAF_TEST(null is a result like others) {
  CHECK(step("a", {}, nullptr).is_null());
  CHECK(step("a", {}, "second").is_null());
  CHECK_EQ(done, 1);
}

CAF_TEST(another name or input is another step) {
  step("a", {{"x", 1}});
  step("b", {{"x", 1}});
  step("a", {{"x", 2}});
  step("a", {{"x", "1"}});
  CHECK_EQ(done, 4);
  // The order of an object's members is none of its meaning.
  step("c", {{"x", 1}, {"y", 2}});
  step("c", {{"y", 2}, {"x", 1}});
  CHECK_EQ(done, 5);
}

CAF_TEST(work that throws leaves nothing) {
  auto work = []() -> step_result { throw std::runtime_error("no"); };
  CHECK_THROWS_AS(context.step("a", 1, work), std::runtime_error);
  CHECK(context.steps.empty());
  step("a", 1);
  CHECK_EQ(done, 1);
}

CAF_TEST(money that bought nothing is recorded with every try) {
  auto tries = 0;
  auto work = [&]() -> step_result {
    ++tries;
    throw run_ended{outcome::failed("no use"), {7, 3, 1}, "prose", "prose-1"};
  };
  auto end_of_step = [&] {
    try {
      context.step("a", 1, work);
    } catch (const run_ended& end) {
      return end.how;
    }
    return outcome::completed("no end");
  };
  // Twice in one run, then in the next one.
  for (auto run : {3, 3, 4}) {
    context.job_.run = run;
    auto how = end_of_step();
    CHECK(how.kind == run_outcome::failed);
    CHECK_EQ(how.message, "no use");
  }
  CHECK_EQ(tries, 3);
  REQUIRE_EQ(context.steps.size(), 3u);
  std::set<std::string> hashes;
  for (const auto& [kept, effects] : context.steps) {
    CHECK_EQ(kept.name, "a (failed)");
    CHECK(kept.result.is_null());
    CHECK_EQ(kept.provider, "prose");
    CHECK_EQ(kept.model, "prose-1");
    CHECK_EQ(kept.used, (usage{7, 3, 1}));
    CHECK(effects.empty());
    CHECK_EQ(kept.input_hash.size(), 64u);
    hashes.insert(kept.input_hash);
  }
  CHECK_EQ(context.steps.back().step.run, 4);
  CHECK_EQ(hashes.size(), 3u);
  // None of them is taken for the step, not even by its own name.
  step("a", 1);
  step("a (failed)", 1);
  CHECK_EQ(done, 2);
}

CAF_TEST(an end that cost nothing leaves nothing) {
  auto work = []() -> step_result {
    throw run_ended{outcome::failed("no"), {}, "prose", "prose-1"};
  };
  CHECK_THROWS_AS(context.step("a", 1, work), run_ended);
  CHECK(context.steps.empty());
}

CAF_TEST(what ended the run first is what counts) {
  auto stores = 0;
  context.before_commit = [&](const job_step&) {
    ++stores;
    throw run_ended{outcome::cancelled()};
  };
  auto work = []() -> step_result {
    throw run_ended{outcome::failed("no use"), {7, 3, 1}, "prose", "prose-1"};
  };
  try {
    context.step("a", 1, work);
    CAF_FAIL("the run went on");
  } catch (const run_ended& end) {
    CHECK(end.how.kind == run_outcome::failed);
    CHECK_EQ(end.how.message, "no use");
    CHECK_EQ(end.used, (usage{7, 3, 1}));
  }
  CHECK_EQ(stores, 1);
  CHECK(context.steps.empty());
}

CAF_TEST(a paid step that the store refuses is recorded) {
  context.before_commit = [](const job_step& x) {
    if (x.name == "a")
      throw run_ended{outcome::failed_permanently("gone")};
  };
  try {
    step("a", 1, "result");
    CAF_FAIL("the run went on");
  } catch (const run_ended& end) {
    CHECK_EQ(end.how.message, "gone");
  }
  REQUIRE_EQ(context.step_names(), std::vector<std::string>{"a (failed)"});
  CHECK(context.steps.front().step.result.is_null());
  CHECK_EQ(context.steps.front().step.used.input_tokens, 7u);
  CHECK_EQ(context.steps.front().step.provider, "prose");
}

CAF_TEST(a step that is not committed is done again) {
  context.before_commit = [](const job_step&) {
    throw run_ended{outcome::cancelled()};
  };
  CHECK_THROWS_AS(step("a", 1), run_ended);
  context.before_commit = nullptr;
  step("a", 1);
  CHECK_EQ(done, 2);
}

CAF_TEST(a stopped run begins no step) {
  context.source.request_stop();
  CHECK_THROWS_AS(step("a", 1), run_ended);
  CHECK_EQ(done, 0);
}

CAF_TEST(a call reports what it cost and gives its permit back) {
  auto got = call_provider<int>(context, {"prose", "prose-1"}, 99, [&] {
    CHECK_EQ(context.open_permits, 1);
    provider_answer<int> answer;
    answer.result = 42;
    answer.used.output_tokens = 3;
    answer.limits.requests = rate_limit{10, 9, 1s};
    return answer;
  });
  CHECK_EQ(std::get<int>(got.result), 42);
  CHECK_EQ(context.open_permits, 0);
  CHECK_EQ(
    context.acquired,
    (std::vector<std::pair<std::string, uint64_t>>{{"prose/prose-1", 99}}));
  REQUIRE_EQ(context.calls.size(), 1u);
  CHECK(context.calls.front().effect == lane_effect::none);
  CHECK_EQ(context.calls.front().used.output_tokens, 3u);
  CHECK(context.calls.front().limits.requests == (rate_limit{10, 9, 1s}));
}

CAF_TEST(a failed call tells the lane and ends the run) {
  auto ended = false;
  try {
    call_provider<int>(context, {"prose", "prose-1"}, 1, [] {
      return failed(run_outcome::throttled, lane_effect::throttle);
    });
  } catch (const run_ended& end) {
    ended = true;
    CHECK(end.how.kind == run_outcome::throttled);
    CHECK_EQ(end.how.message, "the reason");
    CHECK(end.how.delay == 7s);
    // As far as the provider said it.
    CHECK_EQ(end.used.input_tokens, 5u);
    CHECK_EQ(end.provider, "prose");
    CHECK_EQ(end.model, "prose-1");
  }
  CHECK(ended);
  CHECK_EQ(context.open_permits, 0);
  REQUIRE_EQ(context.calls.size(), 1u);
  CHECK(context.calls.front().effect == lane_effect::throttle);
  CHECK(context.calls.front().delay == 7s);
  CHECK_EQ(context.calls.front().message, "the reason");
  CHECK_EQ(context.calls.front().used.input_tokens, 5u);
}

CAF_TEST(a call that throws gives its permit back) {
  auto call = []() -> provider_answer<int> { throw std::runtime_error("no"); };
  CHECK_THROWS_AS(call_provider<int>(context, {"a", "b"}, 1, call),
                  std::runtime_error);
  CHECK_EQ(context.open_permits, 0);
  CHECK(context.calls.empty());
}

CAF_TEST(a closed lane is not called) {
  context.lane_closed = outcome::provider_down("parked", 60s);
  auto called = false;
  auto call = [&] {
    called = true;
    return provider_answer<int>{};
  };
  CHECK_THROWS_AS(call_provider<int>(context, {"a", "b"}, 1, call), run_ended);
  CHECK(!called);
  // What calls nobody needs no lane.
  call_provider<int>(context, {"local", "b"}, 1, call);
  CHECK(called);
}

CAF_TEST(lanes are named once and only when somebody is called) {
  CHECK_EQ(lane_names({{"local", "x"}, {"", ""}}), std::vector<std::string>{});
  CHECK_EQ(lane_names({{"a", "1"}, {"local", "x"}, {"a", "2"}, {"a", "1"}}),
           (std::vector<std::string>{"a/1", "a/2"}));
}

CAF_TEST(jobs of users use what is theirs or nobodys) {
  CHECK(may_use("a", "a"));
  CHECK(may_use("a", std::nullopt));
  CHECK(may_use(std::nullopt, "a"));
  CHECK(!may_use("a", "b"));
  CHECK(!may_use("", "b"));
}

CAF_TEST_FIXTURE_SCOPE_END()
