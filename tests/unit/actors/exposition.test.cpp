// tests/unit/actors/exposition.test.cpp -- Prometheus' text format, to the
// byte.
#define CAF_SUITE actors.exposition

#include "actors/exposition.hpp"

#include "actors/histograms.hpp"
#include "actors/node_metrics.hpp"
#include "support/actor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <limits>

using namespace reeve;

namespace {

struct fixture : test::actor_fixture {
  std::string text_of(const scraped_figures& x) {
    return prometheus_text(sys, x);
  }

  static bool has_line(const std::string& text, const std::string& line) {
    return text.find('\n' + line + '\n') != std::string::npos;
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("what could break a line or a label is escaped") {
  exposition out;
  out.gauge("reeve_x", "A \"help\"\nwith a \\.")
    .sample({{"a", "\"\\\n"}, {"b", "\xea\xb0\x80"}}, 1.5)
    .sample(2);
  CHECK_EQ(out.take(),
           "# HELP reeve_x A \"help\"\\nwith a \\\\.\n"
           "# TYPE reeve_x gauge\n"
           "reeve_x{a=\"\\\"\\\\\\n\",b=\"\xea\xb0\x80\"} 1.5\n"
           "reeve_x 2\n");
}

SCENARIO("numbers are what Prometheus reads") {
  exposition out;
  using limits = std::numeric_limits<double>;
  out.counter("reeve_x_total", "x")
    .sample(0)
    .sample(1e300)
    .sample(0.1)
    .sample(1'759'000'000.25)
    .sample(limits::infinity())
    .sample(-limits::infinity())
    .sample(limits::quiet_NaN());
  CHECK_EQ(out.take(),
           "# HELP reeve_x_total x\n"
           "# TYPE reeve_x_total counter\n"
           "reeve_x_total 0\n"
           "reeve_x_total 1e+300\n"
           "reeve_x_total 0.1\n"
           "reeve_x_total 1759000000.25\n"
           "reeve_x_total +Inf\n"
           "reeve_x_total -Inf\n"
           "reeve_x_total NaN\n");
}

SCENARIO("a registry's metrics are written, but for CAF's own") {
  caf::telemetry::metric_registry registry;
  registry
    .counter_instance("reeve.some", "things", {{"kind", "a"}}, "Things.", "1",
                      true)
    ->inc(3);
  registry.gauge_singleton("caf.system", "running-actors", "Actors.")->value(7);
  static constexpr double bounds[]{0.5, 2};
  auto* times = histogram(registry, "reeve", "wait", {{"kind", "a"}},
                          caf::make_span(bounds), "Waits.");
  for (auto x : {0.25, 1.0, 1.0, 100.0})
    times->observe(x);
  exposition out;
  out.add(registry);
  CHECK_EQ(out.take(),
           "# HELP reeve_some_things_total Things.\n"
           "# TYPE reeve_some_things_total counter\n"
           "reeve_some_things_total{kind=\"a\"} 3\n"
           "# HELP reeve_wait_seconds Waits.\n"
           "# TYPE reeve_wait_seconds histogram\n"
           "reeve_wait_seconds_bucket{kind=\"a\",le=\"0.5\"} 1\n"
           "reeve_wait_seconds_bucket{kind=\"a\",le=\"2\"} 3\n"
           "reeve_wait_seconds_bucket{kind=\"a\",le=\"+Inf\"} 4\n"
           "reeve_wait_seconds_sum{kind=\"a\"} 102.25\n"
           "reeve_wait_seconds_count{kind=\"a\"} 4\n");
}

SCENARIO("what was not answered is left out") {
  auto text = text_of({});
  CHECK(text.starts_with("# HELP reeve_build_info "));
  CHECK(text.find("\nprocess_open_fds ") != std::string::npos);
  for (auto name :
       {"reeve_jobs{", "reeve_actor_", "reeve_listener_", "reeve_provider_"})
    CHECK_EQ(text.find(name), std::string::npos);
}

SCENARIO("counts are by known types, and those of others together") {
  scraped_figures x;
  x.known_types = {"A", "B"};
  x.stats.emplace();
  x.stats->counts = {{"A", job_status::pending, 2},
                     {"X", job_status::pending, 3},
                     {"Y", job_status::pending, 4}};
  x.stats->oldest_due_age = std::chrono::milliseconds{1'500};
  auto text = text_of(x);
  CHECK(has_line(text, R"(reeve_jobs{type="A",status="PENDING"} 2)"));
  CHECK(has_line(text, R"(reeve_jobs{type="B",status="FAILED"} 0)"));
  CHECK(has_line(text, R"(reeve_jobs{type="other",status="PENDING"} 7)"));
  CHECK(has_line(text, "reeve_jobs_oldest_due_age_seconds 1.5"));
  CHECK_EQ(text.find("\"X\""), std::string::npos);
}

SCENARIO("a lane is in one state, and its name is provider and model") {
  scraped_figures x;
  x.lanes.emplace(1);
  auto& lane = x.lanes->front();
  lane.name = "openai-compatible/org/model";
  lane.state = lane_state::broken;
  lane.waiting = 4;
  auto text = text_of(x);
  const std::string labels =
    R"({provider="openai-compatible",model="org/model")";
  for (std::string state : {"open", "parked", "broken", "probing", "paused"})
    CHECK(has_line(text,
                   "reeve_provider_lane_state" + labels + ",state=\"" + state
                     + "\"} " + (state == "broken" ? "1" : "0")));
  CHECK(has_line(text, "reeve_provider_calls_waiting" + labels + "} 4"));
}

SCENARIO("actors that do not answer are down, and a listener may only poll") {
  scraped_figures x;
  x.tree.emplace();
  auto add = [&](std::string name, std::string state) {
    actor_report report;
    report.name = std::move(name);
    report.state = std::move(state);
    report.mailbox = 5;
    report.restarts = 2;
    x.tree->actors.push_back(std::move(report));
  };
  add("db", "idle");
  add("job-1", "degraded");
  add("query", "unresponsive");
  add("listener", "polling");
  auto text = text_of(x);
  CHECK(has_line(text, R"(reeve_actor_up{actor="db"} 1)"));
  CHECK(has_line(text, R"(reeve_actor_up{actor="job-1"} 0)"));
  CHECK(has_line(text, R"(reeve_actor_up{actor="query"} 0)"));
  CHECK(has_line(text, R"(reeve_actor_up{actor="listener"} 1)"));
  CHECK(has_line(text, R"(reeve_actor_mailbox_messages{actor="db"} 5)"));
  CHECK(has_line(text, R"(reeve_actor_restarts_total{actor="db"} 2)"));
  CHECK(has_line(text, "reeve_listener_listening 0"));
  x.tree->actors.back().state = "listening";
  CHECK(has_line(text_of(x), "reeve_listener_listening 1"));
}

END_FIXTURE_SCOPE()
