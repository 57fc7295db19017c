// actors/supervisor.hpp -- owns all other actors, claims what can run, assigns
// it to job actors and decides what follows from every end of a run.
#pragma once

#include "actors/child_table.hpp"
#include "actors/db_actor.hpp"
#include "actors/decision.hpp"
#include "actors/explanation.hpp"
#include "actors/interfaces.hpp"
#include "actors/job_actor.hpp"
#include "actors/metrics.hpp"
#include "actors/recovery.hpp"
#include "actors/scheduler.hpp"

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <functional>
#include <map>
#include <optional>
#include <random>
#include <vector>

namespace reeve {

struct supervisor_options {
  lease_owner owner;
  uint32_t workers = 3;
  std::chrono::milliseconds lease{30'000};
  caf::timespan shutdown_grace = std::chrono::seconds{20};
  /// How long a write may be under way before it is asked again.
  caf::timespan write_timeout = std::chrono::seconds{60};
  /// Ends of runs that may wait for their commit; above, nothing is claimed.
  size_t max_unsettled = 32;
  retry_options retry;
  /// The types that this node has a processor for, and the lanes of each.
  std::map<std::string, std::vector<std::string>> types;
  std::function<type_options(const std::string&)> type;
  restart_budget budget;
  uint64_t seed = std::random_device{}();
};

/// Who guards one lane.
struct gate_factory {
  /// `provider/model`.
  std::string lane;
  std::function<provider_gate_actor(lane_watcher_actor)> spawn;
};

/// Spawns the children. A factory may throw `store_unavailable`: the child is
/// started again later, and that counts as nobody's fault.
struct child_factories {
  std::function<event_hub_actor()> event_hub;
  std::function<db_actor(change_sink_actor)> db;
  std::function<query_actor()> query;
  /// Empty in tests that search nothing.
  std::function<recall_actor()> recall;
  /// Empty in tests that ask nothing in words.
  std::function<embedder_actor(run_services_actor)> embedder;
  std::function<recovery_actor(rescuer_actor)> recovery;
  std::function<scheduler_actor(wakeable_actor)> scheduler;
  /// Empty when the store announces nothing.
  std::function<listener_actor(wakeable_actor)> listener;
  /// One for each lane.
  std::vector<gate_factory> gates;
  std::function<job_actor(run_owner_actor, run_services_actor)> job;
  /// Empty in tests that need no socket.
  std::function<gateway_actor(supervisor_actor)> gateway;
};

class supervisor_state {
public:
  static constexpr const char* name = "reeve.supervisor";

  supervisor_state(supervisor_actor::pointer self, child_factories factories,
                   supervisor_options options);

  ~supervisor_state();

  supervisor_actor::behavior_type make_behavior();

private:
  using time_point = caf::actor_clock::time_point;

  enum class stop_reason : uint8_t { none, cancelled, lease_lost };

  /// A run under way in a slot.
  struct active_run {
    job claimed;
    run_control_ptr control;
    time_point started;
    stop_reason stopped = stop_reason::none;
  };

  struct slot {
    std::string name;
    job_actor handle;
    std::optional<active_run> run;
  };

  /// A lane as its gate told it last.
  struct gate_slot {
    std::string lane;
    provider_gate_actor handle;
    lane_report last;
    /// When it came to probe: at most one run may start because of that.
    time_point probing_since;
  };

  /// The end of a run until its commit.
  struct unsettled_run {
    settle_write write;
    time_point started;
  };
  using run_key = std::pair<int64_t, int64_t>;

  // -- lifecycle (supervisor_lifecycle.cpp) -----------------------------------

  caf::result<uint16_t> boot();
  void add_children();
  void add_gates();
  void start(child& x);
  void recover();
  void serve();
  void on_down(const caf::down_msg& x);
  void restart(const std::string& name);
  caf::result<drain_report> drain();
  void interrupt_runs();
  void finish_drain_when_idle();
  void stop_children();
  void stop_next();

  // -- claims (supervisor_claims.cpp) -----------------------------------------

  void look_for_work();
  std::vector<claimable_type> claimable_types(size_t free) const;
  size_t probes_under_way(const gate_slot& lane) const;
  void send_claim(bool repeated);
  void on_claimed(claimed& x);
  void assign(slot& where, job& what);
  bool is_probe(const job& what) const;
  void give_back(const job& what);
  size_t free_slots() const;
  size_t running_of(const std::string& type) const;

  // -- lanes (supervisor_lanes.cpp) -------------------------------------------

  void on_lane(lane_report& x);
  template <class Result, class T>
  caf::result<Result> forward_to_gate(T& x, const std::string& lane);
  caf::result<void> give_permit_back(permit_return& x);
  caf::result<done> pause(pause_write& x);
  gate_slot* find_gate(const std::string& lane);
  const gate_slot* find_gate(const std::string& lane) const;

  // -- runs (supervisor_runs.cpp) ---------------------------------------------

  void on_report(run_report& x);
  void on_slot_lost(slot& where);
  bool end_early(slot& where, run_outcome as, std::string message);
  void settle(const active_run& run, outcome result);
  void send_settle(run_key key, bool repeated);
  void on_settled(run_key key, const job& now);
  void on_settle_failed(run_key key, const caf::error& err);
  void renew_leases();
  void on_renewed(const renewed& x, time_point asked_at);
  void stop_run(slot& where, stop_reason why);
  slot* find_run(int64_t seq, int64_t run);
  void count_running();

  // -- the rest (supervisor.cpp) ----------------------------------------------

  template <class Result, class Handle, class... Ts>
  caf::result<Result> forward(const Handle& to, Ts&&... xs);
  template <class Result, class Write>
  caf::result<Result> forward_new_work(Write& x);
  caf::result<card_hits> recall(recall_query& x);
  void on_changes(committed_changes& x);

  // -- views (supervisor_views.cpp) -------------------------------------------

  /// Asks all gates; silent ones are shown as they were.
  void with_lanes(std::function<void(lane_reports)> f);
  caf::result<lane_reports> lanes();
  caf::result<type_reports> types();
  type_report describe_type(const std::string& type, const type_states& pauses,
                            const lane_reports& lanes) const;
  caf::result<explanation> explain(const explain_query& x);
  node_view view_for(const job& what, const lane_reports& lanes) const;
  caf::result<tree_report> tree();
  actor_report describe(const child& x) const;
  actor_report describe_self() const;

  supervisor_actor::pointer self_;
  child_factories factories_;
  supervisor_options options_;
  metrics metrics_;
  child_table children_;
  std::mt19937_64 random_;
  time_point started_at_;

  event_hub_actor hub_;
  db_actor db_;
  query_actor query_;
  recall_actor recall_;
  embedder_actor embedder_;
  recovery_actor recovery_;
  scheduler_actor scheduler_;
  listener_actor listener_;
  gateway_actor gateway_;
  std::vector<slot> slots_;
  std::vector<gate_slot> gates_;

  /// Recovery has run: claims are allowed.
  bool recovered_ = false;
  bool draining_ = false;
  bool stopping_ = false;
  std::optional<claim_write> claim_;
  int64_t claim_token_ = 0;
  bool look_again_ = false;
  std::map<run_key, unsettled_run> unsettled_;
  drain_report drained_;
  caf::typed_response_promise<uint16_t> boot_promise_;
  std::vector<caf::typed_response_promise<drain_report>> drain_promises_;
  caf::error exit_reason_;
  uint64_t decisions_ = 0;
};

using supervisor_impl = supervisor_actor::stateful_impl<supervisor_state>;

} // namespace reeve
