// actors/supervisor.cpp -- the table of contents: what the supervisor answers,
// and to whom it forwards.
#include "actors/supervisor.hpp"

#include "config/log.hpp"

#include <caf/send.hpp>

#include <algorithm>
#include <utility>

namespace reeve {

namespace {

using namespace std::chrono_literals;

/// An actor that is silent for longer is shown as unresponsive.
constexpr auto status_timeout = 250ms;

} // namespace

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
    [this](ready_atom x) -> caf::result<void> {
      if (draining_)
        return ec::shutting_down;
      return forward<void>(query_, x);
    },
    // -- writer_actor ---------------------------------------------------------
    [this](enqueue_write& x) { return forward_new_work<enqueued>(x); },
    [this](enqueue_batch_write& x) {
      return forward_new_work<enqueued_batch>(x);
    },
    [this](cancel_write& x) { return forward<changed>(db_, std::move(x)); },
    [this](retry_write& x) { return forward_new_work<changed>(x); },
    [this](delete_scrap_write& x) { return forward<done>(db_, std::move(x)); },
    [this](progress_write& x) { return forward<changed>(db_, std::move(x)); },
    // -- supervisor_actor -----------------------------------------------------
    [this](boot_atom) { return boot(); },
    [this](drain_atom) { return drain(); },
    [this](committed_changes& x) { on_changes(x); },
    [this](rescue_write& x) { return forward<rescued>(db_, std::move(x)); },
    [this](run_report& x) { on_report(x); },
    [this](wake_atom) { look_for_work(); },
    [this](watch_atom x, watch_filter& filter, watcher_actor& who) {
      return forward<watch_started>(hub_, x, std::move(filter), std::move(who));
    },
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
caf::result<Result> supervisor_state::forward_new_work(Write& x) {
  if (draining_)
    return caf::make_error(ec::shutting_down, "the node is shutting down");
  return forward<Result>(db_, std::move(x));
}

void supervisor_state::on_changes(committed_changes& x) {
  auto due_now = false;
  for (const auto& job : x.jobs) {
    if (job.status == job_status::pending) {
      if (job.version == 1)
        metrics_.enqueued(job.type, 1);
      // Both times are the store's: no clock of ours is compared with it.
      auto wait = std::chrono::ceil<std::chrono::milliseconds>(
        job.run_at - job.updated_at);
      if (wait.count() <= 0)
        due_now = true;
      else if (scheduler_)
        self_->send(scheduler_, due_atom_v, int64_t{wait.count()});
    } else if (job.cancel_requested && job.status == job_status::processing) {
      if (auto* where = find_run(job.seq, job.run))
        stop_run(*where, stop_reason::cancelled);
    }
  }
  if (hub_)
    self_->send(hub_, std::move(x));
  if (due_now)
    look_for_work();
}

caf::result<tree_report> supervisor_state::tree() {
  struct fan_in {
    tree_report report;
    size_t open = 0;
  };
  auto promise = self_->make_response_promise<tree_report>();
  auto gathered = std::make_shared<fan_in>();
  auto& actors = gathered->report.actors;
  actors.push_back(describe_self());
  for (const auto& x : children_.all())
    actors.push_back(describe(x));
  auto finish_one = [gathered, promise]() mutable {
    if (--gathered->open == 0)
      promise.deliver(std::move(gathered->report));
  };
  gathered->open = 1;
  size_t index = 0;
  for (const auto& x : children_.all()) {
    ++index;
    if (!x.handle)
      continue;
    ++gathered->open;
    self_
      ->request(caf::actor_cast<inspectable_actor>(x.handle), status_timeout,
                status_atom_v)
      .then(
        [gathered, index, finish_one](const actor_report& own) mutable {
          auto& shown = gathered->report.actors[index];
          shown.state = own.state;
          shown.mailbox = own.mailbox;
          shown.messages = own.messages;
          shown.job_id = own.job_id;
          if (!own.last_error.empty())
            shown.last_error = own.last_error;
          finish_one();
        },
        [gathered, index, finish_one](const caf::error&) mutable {
          gathered->report.actors[index].state = "unresponsive";
          finish_one();
        });
  }
  finish_one();
  return promise;
}

actor_report supervisor_state::describe(const child& x) const {
  actor_report result;
  result.name = x.name;
  result.parent = "supervisor";
  result.id = x.handle ? x.handle.id() : 0;
  result.state = to_string(x.state);
  result.restarts = x.restarts;
  result.last_error = x.last_error;
  if (x.handle)
    result.uptime = std::chrono::duration_cast<std::chrono::milliseconds>(
      self_->clock().now() - x.started_at);
  return result;
}

actor_report supervisor_state::describe_self() const {
  actor_report result;
  result.name = "supervisor";
  result.id = self_->id();
  result.state = stopping_ || draining_ ? "draining"
    : recovered_                        ? "running"
                                        : "starting";
  result.mailbox = self_->mailbox().size();
  result.messages = decisions_;
  result.uptime = std::chrono::duration_cast<std::chrono::milliseconds>(
    self_->clock().now() - started_at_);
  return result;
}

} // namespace reeve
