// tests/unit/actors/event_hub.test.cpp -- who sees which change, and when.
#define CAF_SUITE actors.event_hub

#include "actors/event_hub.hpp"

#include "support/actor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;

namespace {

struct watcher_log {
  std::vector<job_event> events;

  // `job-1@2` is the second version of that job.
  std::string str() const {
    std::string result;
    for (const auto& x : events)
      result += (result.empty() ? "" : " ") + x.what->id + '@'
        + std::to_string(x.what->version);
    return result;
  }
};

struct watcher {
  watcher_actor handle;
  std::shared_ptr<watcher_log> log;
};

struct fixture : test::actor_fixture {
  event_hub_actor uut;

  fixture() {
    start({});
  }

  void start(event_hub_options options) {
    uut = adopt(sys.spawn<event_hub_impl>(options));
    settle();
  }

  watcher make_watcher() {
    auto log = std::make_shared<watcher_log>();
    auto handle = adopt(sys.spawn([log]() -> watcher_actor::behavior_type {
      return {[log](const job_event& x) { log->events.push_back(x); }};
    }));
    return {handle, log};
  }

  watch_started subscribe(const watcher& who, watch_filter filter = {}) {
    auto answer =
      ask<watch_started>(uut, watch_atom_v, std::move(filter), who.handle);
    settle();
    CAF_REQUIRE(answer->value.has_value());
    return std::move(*answer->value);
  }

  static job version(int64_t seq, int64_t number) {
    auto result = test::make_job(seq);
    result.version = number;
    return result;
  }

  void publish(std::vector<job> jobs) {
    committed_changes changes;
    for (auto& x : jobs)
      changes.jobs.emplace_back(std::make_shared<const job>(std::move(x)));
    caf::anon_send(uut, std::move(changes));
    settle();
  }

  static std::string str(const watch_started& x) {
    return watcher_log{x.replay}.str();
  }
};

watch_filter one_job(std::string id, std::optional<int64_t> last_seen = {}) {
  watch_filter result;
  result.job_id = std::move(id);
  result.last_seen = last_seen;
  return result;
}

watch_filter feed_since(int64_t number) {
  watch_filter result;
  result.last_seen = number;
  return result;
}

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("changes arrive in commit order, numbered without a gap") {
  auto all = make_watcher();
  auto started = subscribe(all);
  publish({version(1, 1), version(2, 1)});
  publish({version(1, 2)});
  publish({version(2, 2), version(1, 3)});
  CHECK_EQ(all.log->str(), "job-1@1 job-2@1 job-1@2 job-2@2 job-1@3");
  for (size_t i = 0; i < all.log->events.size(); ++i)
    CHECK_EQ(all.log->events[i].number,
             started.newest + 1 + static_cast<int64_t>(i));
}

SCENARIO("a watcher sees what fits its filter, and nothing else") {
  auto by_id = make_watcher();
  auto by_type = make_watcher();
  auto by_user = make_watcher();
  auto foreign = make_watcher();
  subscribe(by_id, one_job("job-2"));
  watch_filter filter;
  filter.type = "webhook";
  subscribe(by_type, filter);
  filter.type.reset();
  filter.user_id = "ann";
  subscribe(by_user, filter);
  // The job exists, yet it is not this user's.
  filter.job_id = "job-2";
  filter.user_id = "bob";
  subscribe(foreign, filter);
  auto plain = version(1, 1);
  auto of_ann = version(2, 1);
  of_ann.user_id = "ann";
  auto hook = version(3, 1);
  hook.type = "webhook";
  publish({plain, of_ann, hook});
  CHECK_EQ(by_id.log->str(), "job-2@1");
  CHECK_EQ(by_type.log->str(), "job-3@1");
  CHECK_EQ(by_user.log->str(), "job-2@1");
  CHECK_EQ(foreign.log->str(), "");
}

SCENARIO("a feed resumes by the number of an event") {
  auto first = make_watcher();
  auto newest = subscribe(first).newest;
  publish({version(1, 1), version(2, 1), version(1, 2)});
  auto back = make_watcher();
  auto started = subscribe(back, feed_since(newest + 1));
  CHECK(!started.gap);
  CHECK_EQ(str(started), "job-2@1 job-1@2");
  CHECK_EQ(started.newest, newest + 3);
  CHECK(started.hub == uut.address());
  AND("it goes on live from there") {
    publish({version(2, 2)});
    CHECK_EQ(back.log->str(), "job-2@2");
  }
  AND("who has seen everything gets nothing twice") {
    auto latest = subscribe(make_watcher(), feed_since(newest + 4));
    CHECK(!latest.gap);
    CHECK(latest.replay.empty());
  }
}

SCENARIO("a single job resumes by its version") {
  publish({version(1, 1), version(2, 1), version(1, 2), version(1, 3)});
  auto started = subscribe(make_watcher(), one_job("job-1", 1));
  CHECK(!started.gap);
  CHECK_EQ(str(started), "job-1@2 job-1@3");
}

SCENARIO("an end is the same job for who was there and for who comes late") {
  completed end;
  auto was = version(1, 2);
  was.status = job_status::processing;
  was.progress_percent = 40;
  was.progress_message = "drawing";
  was.error_message = "of the run before";
  was.cancel_requested = true;
  end.claimed = std::make_shared<const job>(was);
  end.result = {{"answer", 42}};
  end.version = 5;
  end.finished_at = timestamp{std::chrono::seconds{7}};
  end.used = {100, 20, 3};
  auto other = end;
  other.claimed = std::make_shared<const job>(version(2, 1));
  auto there = make_watcher();
  const auto newest = subscribe(there, one_job("job-1")).newest;
  committed_changes changes;
  changes.jobs.emplace_back(end);
  changes.jobs.emplace_back(other);
  caf::anon_send(uut, std::move(changes));
  settle();
  REQUIRE_EQ(there.log->str(), "job-1@5");
  const auto& now = *there.log->events[0].what;
  CHECK(now.status == job_status::completed);
  CHECK_EQ(now.result.text(), R"({"answer":42})");
  CHECK_EQ(now.progress_percent, 100);
  CHECK_EQ(now.progress_message, "");
  CHECK(!now.error_message);
  CHECK(!now.cancel_requested);
  CHECK(now.finished_at == end.finished_at);
  CHECK(now.updated_at == end.finished_at);
  CHECK(now.used == end.used);
  // Put together once, for all.
  auto late = subscribe(make_watcher(), one_job("job-1", 2));
  REQUIRE_EQ(str(late), "job-1@5");
  CHECK_EQ(late.replay[0].what, there.log->events[0].what);
  CHECK_EQ(str(subscribe(make_watcher(), one_job("job-1", 5))), "");
  CHECK_EQ(str(subscribe(make_watcher(), feed_since(newest))),
           "job-1@5 job-2@5");
}

SCENARIO("the end of a large job keeps nothing but that job in memory") {
  const auto newest = subscribe(make_watcher(), one_job("another")).newest;
  auto is_kept_as_it_ran = [&](size_t payload) {
    auto was = version(1, 1);
    was.payload = {{"text", std::string(payload, 'x')}};
    completed end;
    end.claimed = std::make_shared<const job>(std::move(was));
    end.version = 2;
    std::weak_ptr<const job> claimed = end.claimed;
    committed_changes changes;
    changes.jobs.emplace_back(std::move(end));
    caf::anon_send(uut, std::move(changes));
    settle();
    return !claimed.expired();
  };
  CHECK(is_kept_as_it_ran(100));
  CHECK(!is_kept_as_it_ran(10'000));
  CHECK_EQ(str(subscribe(make_watcher(), feed_since(newest))),
           "job-1@2 job-1@2");
}

SCENARIO("a feed that cannot be resumed is told so") {
  auto newest = subscribe(make_watcher()).newest;
  publish({version(1, 1)});
  GIVEN("a number from before this hub") {
    auto started = subscribe(make_watcher(), feed_since(newest - 1));
    CHECK(started.gap);
    CHECK(started.replay.empty());
  }
  GIVEN("a number that was never given") {
    CHECK(subscribe(make_watcher(), feed_since(newest + 2)).gap);
    CHECK(subscribe(make_watcher(), feed_since(INT64_MAX)).gap);
    CHECK(subscribe(make_watcher(), feed_since(INT64_MIN)).gap);
  }
  GIVEN("the number right before the oldest event") {
    CHECK(!subscribe(make_watcher(), feed_since(newest)).gap);
  }
}

SCENARIO("the replay buffer holds so many events") {
  start({.max_events = 3, .max_bytes = 1'000'000});
  auto newest = subscribe(make_watcher()).newest;
  publish({version(1, 1), version(1, 2), version(1, 3), version(1, 4)});
  CHECK(subscribe(make_watcher(), feed_since(newest)).gap);
  auto started = subscribe(make_watcher(), feed_since(newest + 1));
  CHECK(!started.gap);
  CHECK_EQ(str(started), "job-1@2 job-1@3 job-1@4");
}

SCENARIO("the replay buffer holds so many bytes") {
  start({.max_events = 1'000, .max_bytes = 20'000});
  auto newest = subscribe(make_watcher()).newest;
  auto large = version(1, 1);
  large.payload = {{"text", std::string(8'000, 'x')}};
  publish({large, large, large});
  CHECK(subscribe(make_watcher(), feed_since(newest)).gap);
  CHECK_EQ(subscribe(make_watcher(), feed_since(newest + 1)).replay.size(), 2u);
  WHEN("one event is larger than the whole buffer") {
    large.result = nlohmann::json(std::string(50'000, 'x'));
    auto live = make_watcher();
    subscribe(live);
    publish({large});
    THEN("it is published, and nothing is kept") {
      CHECK_EQ(live.log->events.size(), 1u);
      CHECK(subscribe(make_watcher(), feed_since(newest + 3)).gap);
      CHECK(!subscribe(make_watcher(), feed_since(newest + 4)).gap);
    }
  }
}

SCENARIO("a dead watcher is forgotten") {
  auto watcher_count = [&] {
    return sys.metrics()
      .gauge_singleton("reeve.http", "watchers",
                       "Subscriptions to job changes.")
      ->value();
  };
  auto one = make_watcher();
  auto feed = make_watcher();
  subscribe(one, one_job("job-1"));
  subscribe(feed);
  CHECK_EQ(watcher_count(), 2);
  kill(one.handle);
  kill(feed.handle);
  settle();
  CHECK_EQ(watcher_count(), 0);
  publish({version(1, 1)});
  CHECK(one.log->events.empty());
  CHECK(!is_dead(uut));
}

SCENARIO("a new subscription replaces the watcher's old one") {
  auto who = make_watcher();
  subscribe(who, one_job("job-1"));
  subscribe(who, one_job("job-2"));
  publish({version(1, 1), version(2, 1)});
  CHECK_EQ(who.log->str(), "job-2@1");
  AND("a feed replaces a single job, and gets every change once") {
    subscribe(who);
    publish({version(1, 2), version(2, 2)});
    CHECK_EQ(who.log->str(), "job-2@1 job-1@2 job-2@2");
  }
}

SCENARIO("two watchers of one job part without harm") {
  auto one = make_watcher();
  auto two = make_watcher();
  subscribe(one, one_job("job-1"));
  subscribe(two, one_job("job-1"));
  kill(one.handle);
  settle();
  publish({version(1, 1)});
  CHECK_EQ(two.log->str(), "job-1@1");
}

SCENARIO("numbers of a new hub are above those of an old one") {
  auto old = subscribe(make_watcher()).newest;
  publish({version(1, 1), version(1, 2)});
  start({});
  CHECK(subscribe(make_watcher(), feed_since(old + 2)).gap);
}

END_FIXTURE_SCOPE()
