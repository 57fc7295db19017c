// tests/unit/actors/explanation.test.cpp -- the first thing that keeps a job
// from running.
#define CAF_SUITE actors.explanation

#include "actors/explanation.hpp"

#include "support/actor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

constexpr timestamp noon{std::chrono::sys_days{std::chrono::year{2026} / 3 / 1}
                         + 12h};

struct fixture {
  queue_facts facts;
  node_view node;

  fixture() {
    facts.job = test::make_job(1);
    facts.job.run_at = noon - 1h;
    facts.now = noon;
    node.node = "alpha";
    node.free_slots = 2;
  }

  explanation why() const {
    return explain(facts, node);
  }

  bool says(std::string_view text) const {
    auto found = why().text.find(text) != std::string::npos;
    if (!found)
      CAF_MESSAGE("said: " << why().text);
    return found;
  }

  void close_lane(lane_state state, std::string reason) {
    lane_report open;
    open.name = "gemini/image";
    lane_report closed;
    closed.name = "anthropic/claude";
    closed.state = state;
    closed.reason = std::move(reason);
    node.lanes = {open, closed};
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("a finished job is finished, however it ended") {
  for (auto status :
       {job_status::completed, job_status::failed, job_status::cancelled}) {
    facts.job.status = status;
    facts.job.finished_at = noon - 5min;
    CHECK_EQ(why().code, "finished");
    CHECK(says(to_string(status)));
    CHECK(says("2026-03-01T11:55:00.000Z"));
  }
  facts.job.error_message = "no luck";
  CHECK(says("no luck"));
}

SCENARIO("a running job runs somewhere since some time") {
  facts.job.status = job_status::processing;
  facts.job.started_at = noon - 1min;
  CHECK_EQ(why().code, "running");
  CHECK(says("another node"));
  CHECK(says("2026-03-01T11:59:00.000Z"));
  node.running = {{"job-1", "CARD_ANALYSIS"}};
  CHECK(says("node alpha"));
  facts.job.cancel_requested = true;
  CHECK_EQ(why().code, "cancel_requested");
  CHECK(says("told to stop"));
}

SCENARIO("a job that is due later says until when and why") {
  facts.job.run_at = noon + 90s;
  facts.job.attempts = 2;
  facts.job.error_message = "HTTP 503";
  struct row {
    const char* reason;
    const char* text;
  };
  row table[] = {
    {"", "whoever enqueued it"},
    {"retry", "attempt 2 of 3 failed: HTTP 503"},
    {"throttled", "slow down: HTTP 503"},
    {"provider_down", "was down: HTTP 503"},
    {"interrupted", "its node stopped"},
    {"snoozed", "its processor asked"},
    {"rescued", "rescued"},
  };
  for (const auto& x : table) {
    facts.job.reason = x.reason;
    CHECK_EQ(why().code, "due_later");
    CHECK(why().until == noon + 90s);
    CHECK(says(x.text));
  }
}

SCENARIO("a paused type says since when and why") {
  facts.pause = type_state{"CARD_ANALYSIS", true, "the model is broken", noon};
  CHECK_EQ(why().code, "type_paused");
  CHECK(says("the model is broken"));
  CHECK(says("2026-03-01T12:00:00.000Z"));
  facts.pause->paused = false;
  CHECK_EQ(why().code, "claimable");
}

SCENARIO("a node without a processor, or one that shuts down, says so") {
  node.has_processor = false;
  CHECK_EQ(why().code, "no_processor");
  CHECK(says("CARD_ANALYSIS"));
  node.has_processor = true;
  node.is_draining = true;
  CHECK_EQ(why().code, "node_draining");
}

SCENARIO("a closed lane says which, why and until when") {
  close_lane(lane_state::broken, "HTTP 529");
  node.lanes[1].opens_in = 20s;
  CHECK_EQ(why().code, "lane_closed");
  CHECK(says("anthropic/claude is broken: HTTP 529"));
  CHECK(why().until == noon + 20s);
  close_lane(lane_state::paused, "401: invalid key");
  CHECK_EQ(why().code, "lane_closed");
  CHECK(says("until somebody resumes it"));
  CHECK(!why().until);
  close_lane(lane_state::probing, "HTTP 529");
  CHECK_EQ(why().code, "lane_closed");
  close_lane(lane_state::open, "");
  CHECK_EQ(why().code, "claimable");
}

SCENARIO("a type at its limit names a job in the way") {
  node.concurrency = 2;
  node.running = {{"job-8", "OTHER"}, {"job-9", "CARD_ANALYSIS"}};
  CHECK_EQ(why().code, "claimable");
  node.concurrency = 1;
  CHECK_EQ(why().code, "limit_reached");
  CHECK(why().blocking_job == "job-9");
  CHECK(says("job-9"));
}

SCENARIO("a node without a free worker names one job only") {
  node.free_slots = 0;
  node.running = {{"job-8", "OTHER"}, {"job-9", "OTHER"}};
  facts.ahead = 4;
  CHECK_EQ(why().code, "node_busy");
  CHECK(why().blocking_job == "job-8");
  CHECK(why().ahead == 4);
  CHECK(!says("job-9"));
  AND("one without any worker names none") {
    node.running.clear();
    CHECK_EQ(why().code, "node_busy");
    CHECK(!why().blocking_job);
  }
}

SCENARIO("what is left is the queue") {
  facts.ahead = 4;
  CHECK_EQ(why().code, "queued");
  CHECK(why().ahead == 4);
  CHECK(says("number 5"));
  facts.ahead = 0;
  CHECK_EQ(why().code, "claimable");
}

SCENARIO("the first thing in the way is told, not the last") {
  close_lane(lane_state::broken, "HTTP 529");
  facts.pause = type_state{"CARD_ANALYSIS", true, "broken", noon};
  node.free_slots = 0;
  CHECK_EQ(why().code, "type_paused");
  facts.job.run_at = noon + 1s;
  CHECK_EQ(why().code, "due_later");
}

END_FIXTURE_SCOPE()
