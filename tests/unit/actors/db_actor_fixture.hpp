// tests/unit/actors/db_actor_fixture.hpp -- a db actor over a store in memory,
// and what it published.
#pragma once

#include "actors/db_actor.hpp"

#include "support/actor_fixture.hpp"
#include "support/fake_store.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace reeve::test {

using namespace std::chrono_literals;

struct db_fixture : actor_fixture {
  fake_database_ptr db = std::make_shared<fake_database>();
  std::shared_ptr<std::vector<committed_changes>> published =
    std::make_shared<std::vector<committed_changes>>();
  change_sink_actor sink;
  reeve::db_actor uut;
  int next_job = 100;

  db_fixture() {
    sink =
      adopt(sys.spawn([log = published]() -> change_sink_actor::behavior_type {
        return {[log](const committed_changes& x) { log->push_back(x); }};
      }));
    start({});
  }

  void start(db_actor_options options) {
    uut = adopt(sys.spawn<db_actor_impl>(std::make_unique<fake_store>(db), sink,
                                         options));
    settle();
  }

  static enqueue_write new_job(int n) {
    enqueue_write result;
    result.id = "job-" + std::to_string(n);
    result.type = "CARD_ANALYSIS";
    result.target_id = "target";
    return result;
  }

  auto enqueue(int n) {
    return ask<enqueued>(uut, new_job(n));
  }

  // So often that the next one is expected.
  void jobs_come_often() {
    // Apart enough to tell nothing.
    pass(1s);
    enqueue(next_job++);
    pass(2ms);
    enqueue(next_job++);
    settle();
    db->batches.clear();
  }

  auto claim(int64_t token, uint32_t limit, bool repeated = false) {
    return ask<claimed>(
      uut,
      claim_write{{"node", 1}, {{"CARD_ANALYSIS", limit}}, limit, 30s, token},
      repeated);
  }

  static settle_write end_of(const job& run) {
    settle_write result;
    result.claimed = std::make_shared<const job>(run);
    result.owner = {"node", 1};
    result.result = {{"ok", true}};
    return result;
  }

  auto end(const job& run, bool repeated = false) {
    return ask<settled>(uut, settle_list{end_of(run)}, repeated);
  }

  // A job that this node runs.
  job running_job() {
    enqueue(1);
    settle();
    auto answer = claim(1, 1);
    settle();
    CAF_REQUIRE(answer->value && answer->value->jobs.size() == 1);
    published->clear();
    db->batches.clear();
    return answer->value->jobs[0];
  }

  actor_report status() {
    return status_of(uut);
  }

  std::vector<size_t> batch_sizes() const {
    std::vector<size_t> result;
    for (const auto& x : db->batches)
      result.push_back(x.size());
    return result;
  }

  size_t changes() const {
    size_t result = 0;
    for (const auto& x : *published)
      result += x.jobs.size();
    return result;
  }
};

using sizes = std::vector<size_t>;

} // namespace reeve::test
