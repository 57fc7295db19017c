// actors/supervisor.cpp -- the table of contents: what the supervisor answers,
// and to whom it forwards.
#include "actors/supervisor.hpp"

#include "config/log.hpp"

#include <caf/send.hpp>

#include <algorithm>
#include <utility>

namespace reeve {

supervisor_state::supervisor_state(supervisor_actor::pointer self,
                                   child_factories factories,
                                   supervisor_options options)
  : self_(self),
    factories_(std::move(factories)),
    options_(std::move(options)),
    metrics_(self->system()),
    children_(options_.budget),
    random_(options_.seed),
    started_at_(self->clock().now()) {
  for (const auto& [type, lanes] : options_.types)
    metrics_.know(type);
  add_children();
}

supervisor_state::~supervisor_state() {
  // However it ends, it leaves no orphans.
  for (auto& x : children_.all())
    if (x.handle)
      caf::anon_send_exit(x.handle, caf::exit_reason::kill);
}

supervisor_actor::behavior_type supervisor_state::make_behavior() {
  self_->set_down_handler([this](caf::down_msg& x) { on_down(x); });
  return {
    // -- reader_actor ---------------------------------------------------------
    [this](find_atom x, std::string& id) {
      return forward<job>(query_, x, std::move(id));
    },
    [this](find_atom x, job_filter& filter) {
      return forward<job_list>(query_, x, std::move(filter));
    },
    [this](attempts_atom x, std::string& id) {
      return forward<attempt_list>(query_, x, std::move(id));
    },
    [this](scrap_atom x, std::string& id) {
      return forward<scrap>(query_, x, std::move(id));
    },
    [this](card_atom x, std::string& id) {
      return forward<knowledge_card>(query_, x, std::move(id));
    },
    [this](cards_atom x, std::string& scrap_id) {
      return forward<card_list>(query_, x, std::move(scrap_id));
    },
    [this](stats_atom x) { return forward<store_stats>(query_, x); },
    [this](key_atom x, std::string& digest) {
      return forward<api_key>(query_, x, std::move(digest));
    },
    [this](steps_query& x) { return forward<step_list>(query_, std::move(x)); },
    [this](usage_query& x) {
      return forward<usage_rows>(query_, std::move(x));
    },
    [this](errors_query& x) {
      return forward<error_groups>(query_, std::move(x));
    },
    [this](preview_query& x) {
      return forward<failure_preview>(query_, std::move(x));
    },
    [this](facts_query& x) {
      return forward<queue_facts>(query_, std::move(x));
    },
    [this](pauses_query& x) {
      return forward<type_states>(query_, std::move(x));
    },
    [this](summary_query& x) {
      return forward<summary_view>(query_, std::move(x));
    },
    [this](cards_query& x) { return forward<card_list>(query_, std::move(x)); },
    [this](list_cards_query& x) {
      return forward<card_list>(query_, std::move(x));
    },
    [this](list_contents_query& x) {
      return forward<content_list>(query_, std::move(x));
    },
    [this](content_query& x) { return forward<content>(query_, std::move(x)); },
    [this](image_query& x) {
      return forward<page_image>(query_, std::move(x));
    },
    [this](account_query& x) { return forward<account>(query_, std::move(x)); },
    [this](ready_atom x) -> caf::result<void> {
      if (draining_)
        return ec::shutting_down;
      return forward<void>(query_, x);
    },
    // -- searcher_actor -------------------------------------------------------
    [this](card_search& x) {
      return forward<card_hits>(recall_, std::move(x));
    },
    // -- run_services_actor ---------------------------------------------------
    [this](step_write& x, bool repeated) {
      return forward<changed>(db_, std::move(x), repeated);
    },
    [this](permit_request& x) {
      return forward_to_gate<permit_answer>(x, x.lane);
    },
    [this](permit_return& x) { return give_permit_back(x); },
    // -- writer_actor ---------------------------------------------------------
    [this](enqueue_write& x) { return enqueue(x); },
    [this](enqueue_batch_write& x) {
      auto can = [this](const enqueue_write& one) { return could_start(one); };
      return forward_new_work<enqueued_batch>(x,
                                              std::ranges::any_of(x.jobs, can));
    },
    [this](cancel_write& x) { return forward<changed>(db_, std::move(x)); },
    [this](retry_write& x) { return forward_new_work<changed>(x); },
    [this](bulk_retry_write& x) { return forward_new_work<bulk_retried>(x); },
    [this](pause_write& x) { return pause(x); },
    [this](summary_write& x) {
      return forward<stored_summary>(db_, std::move(x));
    },
    [this](delete_scrap_write& x) { return forward<done>(db_, std::move(x)); },
    [this](progress_write& x) { return forward<changed>(db_, std::move(x)); },
    // -- supervisor_actor -----------------------------------------------------
    [this](boot_atom) { return boot(); },
    [this](drain_atom) { return drain(); },
    [this](committed_changes& x) { on_changes(x); },
    [this](rescue_write& x) { return forward<rescued>(db_, std::move(x)); },
    [this](prune_write& x) { return forward<pruned>(db_, std::move(x)); },
    [this](run_reports& x) { on_reports(x); },
    [this](wake_atom) { look_for_work(); },
    [this](recall_query& x) { return recall(x); },
    [this](watch_atom x, watch_filter& filter, watcher_actor& who) {
      return forward<watch_started>(hub_, x, std::move(filter), std::move(who));
    },
    [this](types_query) { return types(); },
    [this](lanes_query) { return lanes(); },
    [this](resume_lane& x) { return forward_to_gate<done>(x, x.name); },
    [this](const restart_actor& x) { return restart(x); },
    [this](const explain_query& x) { return explain(x); },
    [this](lane_report& x) { on_lane(x); },
    [this](tree_atom) { return tree(); },
    [this](caf::tick_atom) { renew_leases(); },
    [this](interrupt_atom) { interrupt_runs(); },
    [this](restart_atom, const std::string& name) { restart(name); },
  };
}

template <class Result, class Handle, class... Ts>
caf::result<Result> supervisor_state::forward(const Handle& to, Ts&&... xs) {
  if (!to)
    return caf::make_error(ec::store_unavailable, "the actor is restarting");
  return self_->delegate(to, std::forward<Ts>(xs)...);
}

template <class Result, class Write>
caf::result<Result> supervisor_state::forward_new_work(Write& x,
                                                       bool may_start) {
  if (draining_)
    return caf::make_error(ec::shutting_down, "the node is shutting down");
  // The claim shares its transaction, and takes the job if nothing else is due.
  if (may_start && !claim_)
    look_for_work(claim_way::with_next_write);
  return forward<Result>(db_, std::move(x));
}

// A claim that is under way may have left without this job. The next one
// follows its answer: together they are one transaction instead of two in turn.
caf::result<enqueued> supervisor_state::enqueue(enqueue_write& x) {
  if (!claim_ || claim_->is_beside || draining_ || !could_start(x)
      || free_slots() < 2)
    return forward_new_work<enqueued>(x, could_start(x));
  claim_->joining.insert(x.id);
  return forward<enqueued>(db_, caf::join_atom_v, std::move(x));
}

bool supervisor_state::could_start(const enqueue_write& x) const {
  return !x.run_at && options_.types.contains(x.type) && !is_paused(x.type)
    && free_slots() > 0;
}

// Settings do not change while the node runs, and are not free to copy.
const type_options& supervisor_state::type(const std::string& name) const {
  auto i = type_options_.find(name);
  if (i == type_options_.end())
    i = type_options_.emplace(name, options_.type(name)).first;
  return i->second;
}

template <class Result, class T>
caf::result<Result> supervisor_state::forward_to_gate(T& x,
                                                      const std::string& lane) {
  auto* gate = find_gate(lane);
  if (gate == nullptr)
    return caf::make_error(ec::not_found, "this node has no lane " + lane);
  return forward<Result>(gate->handle, std::move(x));
}

caf::result<card_hits> supervisor_state::recall(recall_query& x) {
  if (!embedder_)
    return caf::make_error(ec::provider_unavailable,
                           "Who asks the provider of embeddings is being "
                           "restarted",
                           caf::timespan{std::chrono::seconds{1}});
  return forward<card_hits>(embedder_, std::move(x));
}

void supervisor_state::on_changes(committed_changes& x) {
  auto may_start = false;
  for (auto& change : x.jobs) {
    const auto& job = change.subject();
    if (change.status() == job_status::pending) {
      if (job.version == 1)
        metrics_.enqueued(job.type, 1);
      // Both times are the store's: no clock of ours is compared with it.
      auto wait = std::chrono::ceil<std::chrono::milliseconds>(
        job.run_at - job.updated_at);
      if (wait.count() > 0 && scheduler_)
        self_->send(scheduler_, due_atom_v, int64_t{wait.count()});
      may_start = may_start || !is_paused(job.type);
    } else if (is_final(change.status())) {
      metrics_.finished(job.type, change.status());
    } else if (job.cancel_requested) {
      cancel(change.now());
    }
  }
  may_start = may_start && x.leaves_due_work;
  // The claimer may tell of a run before `db` tells that the job was due.
  std::erase_if(x.jobs, [this](const job_change& one) {
    const auto& job = one.subject();
    return one.status() == job_status::pending && knows({job.seq, job.run + 1});
  });
  if (hub_)
    self_->send(hub_, std::move(x));
  if (may_start)
    look_for_work();
}

} // namespace reeve
