// actors/supervisor.hpp -- owns all other actors, claims what can run, assigns
// it to job actors and decides what follows from every end of a run.
#pragma once

#include "actors/child_table.hpp"
#include "actors/db_actor.hpp"
#include "actors/decision.hpp"
#include "actors/explanation.hpp"
#include "actors/interfaces.hpp"
#include "actors/janitor.hpp"
#include "actors/job_actor.hpp"
#include "actors/metered_actor.hpp"
#include "actors/metrics.hpp"
#include "actors/pace.hpp"
#include "actors/recovery.hpp"
#include "actors/scheduler.hpp"

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace reeve {

struct supervisor_options {
  lease_owner owner;
  uint32_t workers = 3;
  std::chrono::milliseconds lease{30'000};
  caf::timespan shutdown_grace = std::chrono::seconds{20};
  /// How long a processor that was told to stop may go on.
  std::chrono::milliseconds wedged_grace{5'000};
  /// How long a write may be under way before it is asked again.
  caf::timespan write_timeout = std::chrono::seconds{60};
  /// Ends of runs that may wait for their commit; above, nothing is claimed.
  size_t max_unsettled = 2'048;
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
  /// Empty where writes exclude each other.
  std::function<claimer_actor()> claimer;
  std::function<query_actor()> query;
  /// Empty in tests that search nothing.
  std::function<recall_actor()> recall;
  /// Empty in tests that ask nothing in words.
  std::function<embedder_actor(run_services_actor)> embedder;
  std::function<recovery_actor(rescuer_actor)> recovery;
  /// Empty when every job is kept.
  std::function<janitor_actor(pruner_actor)> janitor;
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

  /// A run that a slot has taken on.
  struct active_run {
    run_bundle_ptr bundle;
    /// Its place in the bundle.
    size_t index = 0;
    time_point started;
    stop_reason stopped = stop_reason::none;
    /// Of a type whose runs are short: not worth two lines of log each.
    bool is_short = false;

    const job& claimed() const {
      return bundle->runs()[index].job;
    }

    /// Keeps the whole bundle alive.
    job_ptr claimed_ptr() const {
      return {bundle, &claimed()};
    }
  };

  struct slot {
    std::string name;
    job_actor handle;
    /// By `seq`.
    std::unordered_map<int64_t, active_run> runs;
    run_bundle_ptr bundle;

    bool is_free() const {
      return handle && runs.empty();
    }

    const active_run* find(run_key which) const {
      auto i = runs.find(which.first);
      return i != runs.end() && i->second.claimed().run == which.second
        ? &i->second
        : nullptr;
    }

    active_run* find(run_key which) {
      return const_cast<active_run*>(std::as_const(*this).find(which));
    }
  };

  /// How a run ended, before anyone decided what follows.
  struct run_end {
    active_run run;
    outcome result;
    /// Of a run that was not begun: why it is given back.
    std::string why{};
  };

  /// What a claim asks for.
  struct wish {
    std::vector<claimable_type> types;
    size_t limit = 0;
    /// Jobs may be due that it did not ask for.
    bool is_partial = false;
    /// There was no free slot for types that are not short.
    bool leaves_types_out = false;
  };

  enum class claim_way : uint8_t {
    alone,
    /// To share a transaction with what is sent next.
    with_next_write,
    /// The answer to the first try is missing.
    again,
  };

  /// A claim until it is answered.
  struct open_claim {
    claim_write what;
    /// Jobs may be due that it did not ask for.
    bool is_partial = false;
    /// It is at the claimer.
    bool is_beside = false;
    /// Since it was sent, jobs may have become due.
    bool look_again = false;
    /// Since it was sent, a slot came free.
    bool look_if_left = false;
    /// Jobs that came since and wait in `db` for the next one, by id.
    std::set<std::string> joining{};
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

  // -- lifecycle (supervisor_lifecycle.cpp) -----------------------------------

  caf::result<uint16_t> boot();
  void add_children();
  void add_gates();
  void start(child& x);
  void recover();
  void serve();
  void open_up();
  caf::result<drain_report> drain();
  void interrupt_runs();
  void finish_drain_when_idle();
  void stop_children();
  void stop_next();

  // -- restarts (supervisor_restarts.cpp) -------------------------------------

  /// How long a new gateway may take to open its socket.
  static constexpr auto listen_timeout = std::chrono::seconds{10};

  void on_down(const caf::down_msg& x);
  void let_go(const child& x);
  void restart(const std::string& name);
  void start_again(child& who);
  caf::result<actor_report> restart(const restart_actor& x);
  caf::error refuse_grandchild(const std::string& name) const;
  slot* find_slot(std::string_view name);

  // -- claims (supervisor_claims.cpp) -----------------------------------------

  void look_for_work(claim_way how = claim_way::alone);
  void look_if_any_is_left();
  void claim(size_t free, size_t soon_free, claim_way how = claim_way::alone);
  bool may_claim_ahead() const;
  wish make_wish(size_t free, size_t soon_free);
  size_t room_for(const std::string& type, size_t most, bool& is_partial) const;
  size_t probes_under_way(const gate_slot& lane) const;
  bool is_for_claimer(claim_way how) const;
  void send_claim(claim_way how);
  void send_claim_again();
  void give_claimer_up(const std::string& why);
  void on_taken(unread_claim& x);
  void on_claimed(open_claim asked, claimed& x);
  void note_early_cancels(std::vector<job>& jobs);
  void note_paused(const open_claim& asked,
                   const std::vector<std::string>& found);
  bool is_paused(const std::string& type) const;
  void let_go(std::set<std::string>& joining);
  bool is_probe(const job& what) const;

  // -- slots (supervisor_slots.cpp) -------------------------------------------

  /// How long a run may take to call the lane it is to probe. Which of its
  /// type's lanes a run still has to call is not known: a book whose text is
  /// done never calls the text lane again, and would keep all other types from
  /// probing it until the book ends. Who calls takes its permit much sooner
  /// than this; one run too many does no harm, since a gate lets one call probe
  /// at a time.
  static constexpr auto probe_patience = std::chrono::seconds{15};

  void hand_out(std::vector<job>& jobs);
  void hand_out_ahead();
  void keep_ahead(std::vector<job> jobs);
  void lose_patience_with_ahead();
  void assign(slot& where, std::vector<job>&& jobs);
  run_bundle_ptr bundle_of(std::vector<job>& jobs) const;
  void tell_watchers(const run_bundle_ptr& started);
  void give_back(std::vector<job>& jobs);
  bool is_short(const std::string& type) const;
  double share_of_slot(const std::string& type) const;
  bool fill_all_slots(const std::map<std::string, size_t>& jobs) const;
  size_t free_slots() const;
  size_t soon_free_slots() const;
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

  void on_reports(run_reports& x);
  void on_slot_lost(slot& where, const outcome& as);
  size_t end_early(slot& where, const outcome& as);
  std::optional<active_run> take_run(run_key which);
  std::optional<run_end> end_of(active_run run, outcome result);
  void give_back_unbegun();
  void give_back(std::vector<run_end>& ends,
                 const std::vector<run_key>& unbegun, std::string_view why);
  static run_end given_back(active_run run, std::string why);
  void settle(std::vector<run_end> ends);
  settle_write decide_on(run_end& x);
  void send_settles(std::vector<run_key> keys, bool repeated);
  void on_settled(run_key key);
  bool on_settle_failed(run_key key, const caf::error& err);
  void after_settles(std::vector<run_key> again);
  void renew_leases();
  void on_renewed(const renewed& x, time_point asked_at);
  void give_back_unknown(const std::vector<held_lease>& held);
  bool knows(run_key which) const;
  void stop_run(slot& where, active_run& run, stop_reason why);
  void cancel(const job_ptr& what);
  void count_running();

  // -- the rest (supervisor.cpp) ----------------------------------------------

  template <class Result, class Handle, class... Ts>
  caf::result<Result> forward(const Handle& to, Ts&&... xs);
  template <class Result, class Write>
  caf::result<Result> forward_new_work(Write& x, bool may_start = false);
  caf::result<enqueued> enqueue(enqueue_write& x);
  bool could_start(const enqueue_write& x) const;
  const type_options& type(const std::string& name) const;
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

  // -- the tree (supervisor_tree.cpp) -----------------------------------------

  /// An actor that is silent for longer is shown as unresponsive.
  static constexpr auto status_timeout = std::chrono::milliseconds{250};

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
  claimer_actor claimer_;
  query_actor query_;
  recall_actor recall_;
  embedder_actor embedder_;
  recovery_actor recovery_;
  scheduler_actor scheduler_;
  gateway_actor gateway_;
  std::vector<slot> slots_;
  std::vector<gate_slot> gates_;

  /// Recovery has run: claims are allowed.
  bool recovered_ = false;
  /// The listener and the gateway were started.
  bool is_open_ = false;
  bool draining_ = false;
  bool stopping_ = false;
  std::optional<open_claim> claim_;
  int64_t claim_token_ = 0;
  /// The claimer failed, and is left alone until then.
  time_point claimer_rests_until_;
  /// Types that a claim found paused, and when: new jobs of theirs are no
  /// reason to ask again for a while.
  std::map<std::string, caf::actor_clock::time_point> paused_;
  /// Claimed, until a slot is free that was expected to be by then.
  std::vector<job> ahead_;
  time_point ahead_since_;
  /// As commits told of them before the claim did that took them.
  std::vector<job_ptr> cancelled_early_;
  /// When types were asked for that are not short, if there are any.
  time_point all_asked_;
  /// The last claim left due jobs behind: runs may be fetched ahead.
  bool backlog_ = false;
  /// The last claim took all there was, and nothing has happened since.
  bool nothing_left_ = false;
  /// Whose turn it is among types that need a slot for each run.
  size_t turn_ = 0;
  std::unordered_map<std::string, pace> paces_;
  mutable std::unordered_map<std::string, type_options> type_options_;
  std::map<run_key, unsettled_run> unsettled_;
  /// Runs whose ends the store refuses, whatever is tried.
  std::set<run_key> refused_;
  /// Runs that this node knew nothing of when its leases were renewed last.
  std::set<run_key> unknown_;
  drain_report drained_;
  caf::typed_response_promise<uint16_t> boot_promise_;
  std::vector<caf::typed_response_promise<drain_report>> drain_promises_;
  caf::error exit_reason_;
  uint64_t decisions_ = 0;
};

using supervisor_impl =
  metered_actor<supervisor_actor::stateful_impl<supervisor_state>>;

} // namespace reeve
