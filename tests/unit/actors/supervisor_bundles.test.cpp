// tests/unit/actors/supervisor_bundles.test.cpp -- short jobs are fetched
// ahead, and what is added is claimed at once.
#define CAF_SUITE actors.supervisor_bundles

#include "supervisor_fixture.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

using sizes = std::vector<size_t>;

struct fixture : test::supervisor_fixture {
  fixture() {
    options.workers = 1;
    options.types = {{"CARD_ANALYSIS", {}}, {"LONG", {}}, {"OTHER", {}}};
  }

  void queue(int64_t first, int64_t last,
             const std::string& type = "CARD_ANALYSIS") {
    for (auto seq = first; seq <= last; ++seq) {
      auto what = test::make_claimed(seq);
      what.type = type;
      node->queue.push_back(std::move(what));
    }
  }

  void wake() {
    caf::anon_send(uut, wake_atom_v);
    settle();
  }

  // Ends all runs of the newest bundle.
  void end_bundle(caf::timespan took) {
    auto count = node->bundles.back();
    auto runs = node->runs;
    run_reports news;
    for (auto i = runs.end() - static_cast<ptrdiff_t>(count); i != runs.end();
         ++i)
      news.ended.push_back(
        {i->second.job.seq, i->second.job.run, outcome::completed({}), took});
    caf::anon_send(uut, std::move(news));
    settle();
  }

  const claim_write& last_claim() {
    CAF_REQUIRE(!node->claims.empty());
    return node->claims.back().first;
  }

  uint32_t limit_of(const std::string& type) {
    for (const auto& x : last_claim().types)
      if (x.type == type)
        return x.limit;
    return 0;
  }

  enqueue_write new_job(const std::string& type) {
    enqueue_write result;
    result.id = "new";
    result.type = type;
    return result;
  }
};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

// -- bundles ------------------------------------------------------------------

SCENARIO("a backlog of short jobs is fetched ahead, more and more of it") {
  boot();
  queue(1, 100);
  wake();
  CHECK(node->bundles == sizes{1});
  for (auto i = 0; i < 4; ++i)
    end_bundle(1us);
  CHECK(node->bundles == (sizes{1, 2, 2, 4, 4}));
  CHECK_EQ(node->settles.size(), 9u);
}

SCENARIO("a slow run ends the fetching ahead") {
  boot();
  queue(1, 100);
  wake();
  for (auto i = 0; i < 3; ++i)
    end_bundle(1us);
  node->settles.clear();
  end_bundle(30ms);
  CHECK(node->bundles == (sizes{1, 2, 2, 4, 1}));
  AND("what has no slot of its own then goes back") {
    CHECK_EQ(node->settles.size(), 4u);
    pass(200ms);
    REQUIRE_EQ(node->settles.size(), 7u);
    for (size_t i = 4; i < 7; ++i) {
      CHECK(node->settles[i].first.decision == verdict::retry_unspent);
      CHECK_EQ(node->settles[i].first.why, "the node had no slot left for it");
    }
  }
}

SCENARIO("without a backlog jobs come one by one") {
  boot();
  for (auto i = 1; i <= 20; ++i) {
    enqueue_due({i});
    end_bundle(1us);
  }
  CHECK(node->bundles == sizes(20, 1));
}

SCENARIO("types that are not short share the free slots, in turn") {
  boot();
  queue(1, 100);
  wake();
  for (auto i = 0; i < 2; ++i)
    end_bundle(1us);
  // What these ends make room for is asked for while the runs go on.
  CHECK_EQ(limit_of("LONG") + limit_of("OTHER"), 0u);
  node->hold_claims = true;
  std::vector<std::string> asked;
  for (auto i = 0; i < 2; ++i) {
    pass(250ms);
    end_bundle(1us);
    CHECK_EQ(limit_of("CARD_ANALYSIS"), 4u);
    CHECK_EQ(limit_of("LONG") + limit_of("OTHER"), 1u);
    asked.push_back(limit_of("LONG") > 0 ? "LONG" : "OTHER");
    claimed answer;
    answer.jobs.push_back(test::make_claimed(1'000 + i));
    answer.more = true;
    answer_claim(std::move(answer));
    node->hold_claims = true;
  }
  CHECK_NE(asked[0], asked[1]);
}

SCENARIO("a long job comes last in its bundle, and only one") {
  boot();
  queue(1, 3);
  queue(4, 4, "LONG");
  queue(5, 20);
  wake();
  end_bundle(1us);
  CHECK(node->bundles == (sizes{1, 2}));
  end_bundle(1us);
  CHECK(node->bundles == (sizes{1, 2, 2}));
  REQUIRE_EQ(node->runs.size(), 5u);
  CHECK_EQ(node->runs[3].second.job.seq, 5);
  CHECK_EQ(node->runs[4].second.job.type, "LONG");
}

SCENARIO("bundles are dealt out evenly") {
  options.workers = 3;
  boot();
  queue(1, 3);
  queue(4, 30);
  wake();
  CHECK(node->bundles == (sizes{1, 1, 1}));
  run_reports news;
  for (auto seq : {1, 2, 3})
    news.ended.push_back({seq, 1, outcome::completed({}), 1us});
  caf::anon_send(uut, std::move(news));
  settle();
  CHECK(node->bundles == (sizes{1, 1, 1, 4, 4, 4}));
}

SCENARIO("what a slot gives back is pending again, without an attempt spent") {
  boot();
  queue(1, 100);
  wake();
  end_bundle(1us);
  node->settles.clear();
  run_reports news;
  news.returned.push_back({3, 1});
  caf::anon_send(uut, std::move(news));
  settle();
  CHECK_EQ(only_settle().claimed->seq, 3);
  CHECK(only_settle().decision == verdict::retry_unspent);
  CHECK(only_settle().outcome == run_outcome::interrupted);
  CHECK(only_settle().delay == 0ms);
  CHECK_EQ(only_settle().why, "runs before it took longer than expected");
}

SCENARIO("when a slot dies, only the run under way is lost") {
  boot();
  queue(1, 100);
  wake();
  for (auto i = 0; i < 2; ++i)
    end_bundle(1us);
  node->settles.clear();
  kill_child("job-1");
  REQUIRE_EQ(node->settles.size(), 2u);
  size_t lost = 0, back = 0;
  for (const auto& [write, repeated] : node->settles) {
    lost += write.outcome == run_outcome::lost ? 1u : 0u;
    back += write.outcome == run_outcome::interrupted ? 1u : 0u;
  }
  CHECK_EQ(lost, 1u);
  CHECK_EQ(back, 1u);
}

SCENARIO("a drain begins no run of a bundle any more") {
  boot();
  queue(1, 100);
  wake();
  for (auto i = 0; i < 2; ++i)
    end_bundle(1us);
  node->settles.clear();
  auto drained = ask<drain_report>(uut, drain_atom_v);
  settle();
  CHECK(drained->is_open());
  // Four were fetched ahead, and one waits behind the one that runs.
  REQUIRE_EQ(node->settles.size(), 5u);
  for (const auto& [write, repeated] : node->settles) {
    CHECK(write.decision == verdict::retry_unspent);
    CHECK_EQ(write.why, "the node is shutting down");
  }
  report(4, outcome::completed({}));
  REQUIRE(drained->value.has_value());
  CHECK_EQ(drained->value->finished, 1u);
  CHECK_EQ(drained->value->returned, 5u);
}

SCENARIO("of ends that are settled together each is judged by itself") {
  boot();
  queue(1, 3);
  wake();
  end_bundle(1us);
  node->settles.clear();
  node->refusals = {{refusal_code::lease_lost, "gone"},
                    {refusal_code::blocked, "locked"}};
  end_bundle(1us);
  CHECK_EQ(node->settles.size(), 2u);
  pass(500ms);
  REQUIRE_EQ(node->settles.size(), 3u);
  CHECK_EQ(node->settles[2].first.claimed->seq, 3);
  CHECK(node->settles[2].second);
}

// -- claimed while others run -------------------------------------------------

SCENARIO("while short runs are under way the next ones are claimed") {
  boot();
  queue(1, 100);
  wake();
  end_bundle(1us);
  CHECK(node->bundles == (sizes{1, 2}));
  CHECK_EQ(node->queue.front().seq, 6);
  AND("no more than one claim's worth") {
    wake();
    pass(1ms);
    CHECK_EQ(node->queue.front().seq, 6);
  }
  AND("a slot gets them as soon as it is free") {
    end_bundle(1us);
    CHECK(node->bundles == (sizes{1, 2, 2}));
    CHECK_EQ(node->runs.back().second.job.seq, 5);
    CHECK_EQ(node->queue.front().seq, 10);
  }
}

SCENARIO("what no slot takes in time goes back, without an attempt spent") {
  boot();
  queue(1, 100);
  wake();
  end_bundle(1us);
  node->settles.clear();
  pass(199ms);
  CHECK(node->settles.empty());
  pass(1ms);
  REQUIRE_EQ(node->settles.size(), 2u);
  for (const auto& [write, repeated] : node->settles) {
    CHECK(write.decision == verdict::retry_unspent);
    CHECK_EQ(write.why, "the node had no slot left for it");
  }
  AND("nothing more is claimed for a slot that takes so long") {
    auto claims = node->claims.size();
    wake();
    CHECK_EQ(node->claims.size(), claims);
  }
  AND("it is no part of what a drain gave back") {
    auto drained = ask<drain_report>(uut, drain_atom_v);
    settle();
    report(2, outcome::completed({}));
    REQUIRE(drained->value.has_value());
    CHECK_EQ(drained->value->returned, 1u);
  }
}

SCENARIO("one type that is hardly short does not chop the bundles of others") {
  boot();
  queue(1, 2, "OTHER");
  queue(3, 1'000);
  wake();
  for (auto i = 0; i < 12; ++i)
    end_bundle(1us);
  const auto window = node->bundles.back();
  REQUIRE(window >= 16);
  queue(0, 0, "OTHER");
  std::rotate(node->queue.begin(), node->queue.end() - 1, node->queue.end());
  for (auto i = 0; i < 3; ++i)
    end_bundle(1us);
  CHECK_EQ(std::ranges::count(node->runs, 0,
                              [](const auto& x) { return x.second.job.seq; }),
           1);
  for (size_t i = 1; i <= 3; ++i)
    CHECK(node->bundles[node->bundles.size() - i] >= window / 2);
}

SCENARIO("the last of a backlog waits for a slot, too") {
  boot();
  queue(1, 4);
  wake();
  end_bundle(1us);
  CHECK(node->bundles == (sizes{1, 2}));
  CHECK(node->queue.empty());
  CHECK_EQ(node->settles.size(), 1u);
  end_bundle(1us);
  CHECK(node->bundles == (sizes{1, 2, 1}));
  CHECK_EQ(node->runs.back().second.job.seq, 4);
  CHECK_EQ(node->settles.size(), 3u);
}

SCENARIO("a new slot takes what waits before it claims more") {
  boot();
  queue(1, 100);
  wake();
  end_bundle(1us);
  kill_child("job-1");
  pass(100ms);
  CHECK(node->bundles == (sizes{1, 2, 2}));
  CHECK_EQ(node->runs.back().second.job.seq, 5);
}

SCENARIO("types that are not short get a slot beside a backlog of short jobs") {
  boot();
  queue(1, 1'000);
  wake();
  end_bundle(1us);
  // Ahead, only short ones are asked for.
  CHECK_EQ(limit_of("LONG") + limit_of("OTHER"), 0u);
  auto before = node->claims.size();
  pass(150ms);
  end_bundle(1us);
  pass(100ms);
  end_bundle(1us);
  end_bundle(1us);
  auto asks_all = [](const auto& x) { return x.first.types.size() > 1; };
  CHECK_EQ(std::count_if(node->claims.begin() + static_cast<ptrdiff_t>(before),
                         node->claims.end(), asks_all),
           1);
}

SCENARIO("a job that is cancelled before a slot takes it is told so there") {
  boot();
  queue(1, 100);
  wake();
  end_bundle(1us);
  auto cancelled = test::make_claimed(5);
  cancelled.cancel_requested = true;
  commit({cancelled});
  CHECK(node->interrupts.empty());
  end_bundle(1us);
  REQUIRE_EQ(node->interrupts.size(), 1u);
  CHECK_EQ(node->interrupts[0].second, 5);
}

SCENARIO("a cancel that overtakes the claim's answer is not lost") {
  options.workers = 2;
  boot();
  node->hold_claims = true;
  wake();
  auto what = test::make_claimed(7);
  what.cancel_requested = true;
  commit({what});
  claimed answer;
  answer.jobs.push_back(test::make_claimed(7));
  answer_claim(std::move(answer));
  REQUIRE_EQ(node->interrupts.size(), 1u);
  CHECK_EQ(node->interrupts[0].second, 7);
}

// -- when it is worth to ask --------------------------------------------------

SCENARIO("a claim goes right behind what could start at once") {
  boot();
  auto before = node->claims.size();
  ask<enqueued>(uut, new_job("LONG"));
  settle();
  CHECK_EQ(node->claims.size(), before + 1);
  AND("not for what this node cannot run, or what is due later") {
    ask<enqueued>(uut, new_job("UNKNOWN"));
    auto later = new_job("LONG");
    later.run_at = timestamp{1h};
    ask<enqueued>(uut, later);
    settle();
    CHECK_EQ(node->claims.size(), before + 1);
  }
  AND("not when no slot is free") {
    enqueue_due({1});
    before = node->claims.size();
    ask<enqueued>(uut, new_job("LONG"));
    settle();
    CHECK_EQ(node->claims.size(), before);
  }
}

SCENARIO("a job that was claimed as it was added is no reason to look again") {
  boot();
  auto before = node->claims.size();
  commit({test::make_job(1)});
  CHECK_EQ(node->claims.size(), before);
  commit({test::make_job(2)}, true);
  CHECK_EQ(node->claims.size(), before + 1);
}

SCENARIO("a free slot asks only when something may be left") {
  boot();
  enqueue_due({1});
  auto before = node->claims.size();
  end_bundle(1s);
  CHECK_EQ(node->claims.size(), before);
  wake();
  CHECK_EQ(node->claims.size(), before + 1);
}

SCENARIO("a limit over all nodes is asked for, and its end announced") {
  options.type = [](const std::string& type) {
    type_options result;
    result.concurrency = type == "LONG" ? 2 : 0;
    return result;
  };
  boot();
  for (const auto& x : last_claim().types)
    CHECK_EQ(x.across, x.type == "LONG" ? 2u : 0u);
  queue(1, 1, "LONG");
  wake();
  CHECK_EQ(node->announcements, 0u);
  end_bundle(1s);
  CHECK_EQ(node->announcements, 1u);
}

END_FIXTURE_SCOPE()
