// tests/unit/actors/supervisor_fixture.hpp -- a supervisor over children that
// do what the test says.
#pragma once

#include "actors/supervisor.hpp"

#include "support/actor_fixture.hpp"
#include "support/mock_reader.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace reeve::test {

/// What the mock children share with the test. Children are named as the
/// supervisor names them, job actors by the order in which they were spawned.
struct mock_node {
  // -- what the children answer -----------------------------------------------

  /// Errors of the next boot sweeps.
  std::deque<caf::error> sweep_errors;
  /// Due jobs; a claim takes from the front.
  std::deque<job> queue;
  std::optional<std::chrono::milliseconds> next_due_in;
  /// What claims say of them.
  std::vector<std::string> paused;
  /// Errors of the next claims.
  std::deque<caf::error> claim_errors;
  /// The same of those that are made beside.
  std::deque<caf::error> claimer_errors;
  /// How long the claimer takes.
  caf::timespan claimer_takes{0};
  std::deque<caf::typed_response_promise<unread_claim_ptr>> held_beside;
  /// Errors of the next settlements.
  std::deque<caf::error> settle_errors;
  /// Keeps claims or settlements open until the test answers them.
  bool hold_claims = false;
  bool hold_settles = false;
  std::deque<caf::typed_response_promise<claimed>> held_claims;
  std::deque<std::pair<caf::typed_response_promise<settled>, size_t>>
    held_settles;
  /// Slots that are not started again: a new actor is not one of them.
  std::set<std::string> parked;
  /// What a renewal says this node holds; empty: all that was ever assigned.
  std::optional<std::vector<held_lease>> leases;
  /// Names of children whose factory finds no database.
  std::map<std::string, int> absent;
  /// Names of children that do not answer `status`.
  std::map<std::string, bool> silent;
  caf::expected<uint16_t> port{uint16_t{8080}};
  mock_reads_ptr reads = std::make_shared<mock_reads>();
  /// What gates say of themselves when they are asked.
  std::map<std::string, lane_report> lanes;
  /// Of single settlements, in order; then none is refused.
  std::deque<refusal> refusals;
  std::deque<caf::error> pause_errors;
  /// What the db actor does when it is told to flush.
  std::function<void()> on_flush;

  // -- what happened ----------------------------------------------------------

  /// `start X`, `sweep`, `claim`, `stop X`, … in order.
  std::vector<std::string> events;
  std::vector<std::pair<claim_write, bool>> claims;
  std::vector<claim_write> claims_beside;
  std::vector<std::pair<settle_write, bool>> settles;
  size_t announcements = 0;
  /// Sizes of the bundles that slots were given.
  std::vector<size_t> bundles;
  run_bundle_ptr last_bundle;
  std::vector<step_write> steps;
  std::vector<pause_write> pauses;
  /// Permits and lanes by the gates.
  std::vector<uint64_t> returned;
  std::vector<std::string> resumed;
  size_t renewals = 0;
  size_t enqueues = 0;
  /// Claims that waited for the next write.
  size_t joined = 0;
  std::vector<int64_t> due;
  std::vector<std::vector<job>> published;
  /// Assignments and interrupts by the name of the slot's actor.
  std::vector<std::pair<std::string, assignment>> runs;
  std::vector<std::pair<std::string, int64_t>> interrupts;
  /// The living actor of each name.
  std::map<std::string, caf::actor> actors;
  /// Why the supervisor ended; none while it lives.
  caf::error exit_reason;

  size_t count(const std::string& event) const;
  /// Position of the first such event; fails the test when there is none.
  size_t position(const std::string& event) const;
};

using mock_node_ptr = std::shared_ptr<mock_node>;

class supervisor_fixture : public actor_fixture {
public:
  mock_node_ptr node = std::make_shared<mock_node>();
  supervisor_options options;
  bool with_gateway = true;
  bool with_recall = false;
  bool with_claimer = false;
  std::vector<std::string> gates;
  supervisor_actor uut;

  supervisor_fixture();

  /// Spawns the supervisor and asks it to boot; handles all messages.
  reply_ptr<uint16_t> boot();

  void enqueue_due(std::initializer_list<int64_t> seqs);

  /// What the db actor sends after a commit.
  void commit(std::vector<job> jobs, bool leaves_due_work = false);

  /// Answers the oldest claim that is held, and holds no more.
  void answer_claim(claimed x);
  void fail_claim(ec why);
  void end_claim(
    std::function<void(caf::typed_response_promise<claimed>&)> answer);

  /// Answers the oldest settlements that are held.
  void answer_settle();

  /// What a gate says by itself.
  void tell_lane(const std::string& lane, lane_state state);

  void report(int64_t seq, outcome result, int64_t run = 1,
              caf::timespan took = std::chrono::seconds{1});

  /// Kills a child by name.
  void kill_child(const std::string& name);

  /// Kills a child so often that its budget is spent.
  void exhaust(const std::string& name);

  bool has_ended() {
    return is_dead(uut);
  }

  tree_report tree();
  actor_report shown(const std::string& name);

  /// The only settlement so far; fails the test when there is another number.
  const settle_write& only_settle() const;

private:
  child_factories factories();
};

} // namespace reeve::test
