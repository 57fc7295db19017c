// actors/job_actor.cpp -- always responsive: the blocking call sits in the
// executor, and an executor that does not come back is left behind.
#include "actors/job_actor.hpp"

#include "config/duration.hpp"
#include "config/log.hpp"

#include <caf/send.hpp>

#include <utility>

namespace reeve {

job_actor_state::job_actor_state(job_actor::pointer self, run_owner_actor owner,
                                 executor_factory make_executor,
                                 job_actor_options options)
  : self_(self),
    owner_(std::move(owner)),
    make_executor_(std::move(make_executor)),
    options_(options) {
  // nop
}

job_actor_state::~job_actor_state() {
  if (current_)
    current_->what.control->stop.request_stop();
  caf::anon_send_exit(executor_, caf::exit_reason::user_shutdown);
}

job_actor::behavior_type job_actor_state::make_behavior() {
  // A run whose executor is gone has no end of its own: this slot ends with
  // it, and the supervisor decides.
  self_->set_down_handler([this](const caf::down_msg& x) {
    if (x.source == executor_.address())
      self_->quit(x.reason ? x.reason
                           : caf::make_error(caf::sec::runtime_error,
                                             "the executor ended"));
  });
  spawn_executor();
  return {
    [this](status_atom) { return status(); },
    [this](run_atom, assignment& x) { start(x); },
    [this](interrupt_atom, int64_t seq, int64_t run) {
      if (is_current(seq, run))
        stop(run_outcome::cancelled);
    },
    [this](run_report& x) { on_end(x); },
    [this](run_progress& x) { on_progress(x); },
    [this](timeout_atom, uint64_t nth) { on_timeout(nth); },
    [this](flush_atom, uint64_t nth) {
      if (is_nth(nth))
        send_progress();
    },
  };
}

void job_actor_state::start(assignment& x) {
  ++runs_;
  self_->send(executor_, run_atom_v, x);
  if (x.timeout.count() > 0)
    self_->delayed_send(self_, x.timeout, timeout_atom_v, runs_);
  current_ = running{};
  current_->what = std::move(x);
}

void job_actor_state::stop(run_outcome as) {
  if (current_->stopped_as)
    return;
  current_->stopped_as = as;
  current_->give_up_at = self_->clock().now() + options_.wedged_grace;
  current_->what.control->stop.request_stop();
  self_->delayed_send(self_, options_.wedged_grace, timeout_atom_v, runs_);
}

void job_actor_state::on_timeout(uint64_t nth) {
  if (!is_nth(nth))
    return;
  if (!current_->stopped_as) {
    stop(run_outcome::timed_out);
    return;
  }
  // The timeout of a run that was cancelled just before it.
  if (self_->clock().now() < current_->give_up_at)
    return;
  log::error("job.executor-wedged",
             {{"job", current_->what.job.id}, {"run", current_->what.job.run}});
  replace_executor();
  outcome result;
  result.kind = *current_->stopped_as;
  result.message = "The processor ignored the request to stop for "
    + std::to_string(in_ms(options_.wedged_grace).count())
    + " ms and was abandoned";
  report(std::move(result));
}

void job_actor_state::on_end(run_report& x) {
  // An abandoned executor may still come back; nobody waits for it.
  if (!is_current(x.seq, x.run))
    return;
  auto stopped_as = current_->stopped_as;
  // What a run finished in spite of a late stop was paid for: it counts.
  if (stopped_as == run_outcome::timed_out
      && x.result.kind != run_outcome::completed) {
    x.result = outcome{};
    x.result.kind = run_outcome::timed_out;
    x.result.message = "Timed out after "
      + std::to_string(current_->what.timeout.count()) + " ms";
  }
  report(std::move(x.result));
}

void job_actor_state::report(outcome result) {
  const auto& job = current_->what.job;
  self_->send(owner_, run_report{job.seq, job.run, std::move(result)});
  current_.reset();
}

void job_actor_state::on_progress(run_progress& x) {
  if (!is_current(x.seq, x.run))
    return;
  auto first = !current_->flush_armed;
  current_->unsent = std::move(x);
  if (first)
    send_progress();
}

void job_actor_state::send_progress() {
  auto unsent = std::exchange(current_->unsent, {});
  current_->flush_armed = unsent.has_value();
  if (!unsent)
    return;
  const auto& job = current_->what.job;
  caf::anon_send(owner_,
                 progress_write{job.seq, job.run, unsent->percent,
                                std::move(unsent->message)});
  self_->delayed_send(self_, options_.progress_interval, flush_atom_v, runs_);
}

void job_actor_state::spawn_executor() {
  executor_ = make_executor_(job_actor{self_});
  self_->monitor(executor_);
}

void job_actor_state::replace_executor() {
  ++abandoned_;
  self_->demonitor(executor_);
  caf::anon_send_exit(executor_, caf::exit_reason::kill);
  spawn_executor();
}

bool job_actor_state::is_current(int64_t seq, int64_t run) const {
  return current_ && current_->what.job.seq == seq
    && current_->what.job.run == run;
}

bool job_actor_state::is_nth(uint64_t nth) const {
  return current_ && runs_ == nth;
}

actor_report job_actor_state::status() const {
  actor_report result;
  result.state = !current_ ? "idle"
    : current_->stopped_as ? "stopping"
                           : "running";
  result.mailbox = self_->mailbox().size();
  result.messages = runs_;
  if (current_)
    result.job_id = current_->what.job.id;
  if (abandoned_ > 0)
    result.last_error = std::to_string(abandoned_) + " executors abandoned";
  return result;
}

} // namespace reeve
