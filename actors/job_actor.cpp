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
  if (bundle_)
    bundle_->stop();
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
    [this](run_atom, run_bundle_ptr& x) { start(std::move(x)); },
    [this](interrupt_atom, int64_t seq, int64_t run) {
      interrupt({seq, run});
    },
    [this](const run_news& x) { on_news(x); },
    [this](run_progress& x) { on_progress(x); },
    [this](timeout_atom, uint64_t nth) {
      if (nth == timers_) {
        armed_for_.reset();
        look_at_the_clock();
      }
    },
    [this](flush_atom, uint64_t nth) {
      if (nth == progress_count_)
        send_progress();
    },
  };
}

// -- runs ---------------------------------------------------------------------

void job_actor_state::start(run_bundle_ptr x) {
  bundle_ = std::move(x);
  open_ = bundle_->size();
  started_ = self_->clock().now();
  runs_ += open_;
  self_->send(executor_, run_atom_v, bundle_);
  if (open_ > 1)
    arm(started_ + options_.bundle_patience);
  if (auto timeout = bundle_->runs().front().timeout; timeout.count() > 0)
    arm(started_ + timeout);
}

void job_actor_state::interrupt(run_key which) {
  if (!bundle_ || !bundle_->stop(which))
    return;
  // Its executor finds out when it comes to it; if it has come, time counts.
  auto current = bundle_->current();
  if (current && key_of(current->what->job) == which)
    stop(which, run_outcome::cancelled);
}

void job_actor_state::stop(run_key which, run_outcome as) {
  if (stopped_ && stopped_->which == which)
    return;
  stopped_ =
    stopped_run{which, as, self_->clock().now() + options_.wedged_grace};
  bundle_->stop(which);
  arm(stopped_->give_up_at);
}

void job_actor_state::on_news(const run_news& x) {
  // An abandoned executor may still come back; nobody waits for it.
  if (bundle_ && x.of == bundle_)
    report();
}

// Tells the owner what is new, and is free again once nothing is left.
void job_actor_state::report() {
  run_reports news;
  news.ended = bundle_->take_reports();
  for (auto& x : news.ended)
    on_end(x);
  if (bundle_->size() > 1
      && self_->clock().now() >= started_ + options_.bundle_patience)
    news.returned = bundle_->take_back();
  auto done = news.ended.size() + news.returned.size();
  if (done == 0)
    return;
  open_ -= done;
  if (open_ == 0)
    bundle_ = nullptr;
  self_->send(owner_, std::move(news));
}

void job_actor_state::on_end(run_report& x) {
  run_key which{x.seq, x.run};
  if (progress_.of == which)
    progress_ = {};
  if (!stopped_ || stopped_->which != which)
    return;
  // What a run finished in spite of a late stop was paid for: it counts.
  if (stopped_->as == run_outcome::timed_out
      && x.result.kind != run_outcome::completed) {
    auto timeout = std::chrono::milliseconds{0};
    for (const auto& run : bundle_->runs())
      if (key_of(run.job) == which)
        timeout = run.timeout;
    x.result = outcome{};
    x.result.kind = run_outcome::timed_out;
    x.result.message =
      "Timed out after " + std::to_string(timeout.count()) + " ms";
  }
  stopped_.reset();
}

// -- time ---------------------------------------------------------------------

void job_actor_state::look_at_the_clock() {
  if (!bundle_)
    return;
  auto now = self_->clock().now();
  report();
  if (!bundle_)
    return;
  if (bundle_->size() > 1 && now < started_ + options_.bundle_patience)
    arm(started_ + options_.bundle_patience);
  auto current = bundle_->current();
  if (!current)
    // Its executor has not come to it; it will not be long.
    return arm(now + options_.bundle_patience);
  if (stopped_ && stopped_->which == key_of(current->what->job)) {
    if (now >= stopped_->give_up_at)
      return give_up();
    return arm(stopped_->give_up_at);
  }
  if (current->what->timeout.count() == 0)
    return;
  auto deadline = current->since + current->what->timeout;
  if (now >= deadline)
    stop(key_of(current->what->job), run_outcome::timed_out);
  else
    arm(deadline);
}

void job_actor_state::give_up() {
  run_reports news;
  news.returned = bundle_->take_back();
  auto on = bundle_->current();
  if (!on || key_of(on->what->job) != stopped_->which) {
    // It came back at the last moment, and the next one may have begun.
    open_ -= news.returned.size();
    self_->send(owner_, std::move(news));
    return look_at_the_clock();
  }
  const auto& job = on->what->job;
  log::error("job.executor-wedged",
             {{"job", job.id},
              {"run", job.run},
              log::optional("trace_id", job.trace.id())});
  run_report end{job.seq, job.run, {}, caf::timespan{0}};
  end.result.kind = stopped_->as;
  end.result.message = "The processor ignored the request to stop for "
    + std::to_string(in_ms(options_.wedged_grace).count())
    + " ms and was abandoned";
  news.ended = bundle_->take_reports();
  news.ended.push_back(std::move(end));
  stopped_.reset();
  progress_ = {};
  // `job` is one of its runs.
  auto finished = std::exchange(bundle_, nullptr);
  open_ = 0;
  replace_executor(job.id);
  self_->send(owner_, std::move(news));
}

// At most one timer counts, however many runs go by: it looks at what is under
// way then, and is set again.
void job_actor_state::arm(time_point when) {
  if (armed_for_ && *armed_for_ <= when)
    return;
  armed_for_ = when;
  self_->scheduled_send(self_, when, timeout_atom_v, ++timers_);
}

// -- progress -----------------------------------------------------------------

void job_actor_state::on_progress(run_progress& x) {
  auto current = bundle_ ? bundle_->current() : std::nullopt;
  run_key which{x.seq, x.run};
  if (!current || key_of(current->what->job) != which)
    return;
  if (progress_.of != which) {
    progress_ = {};
    progress_.of = which;
    ++progress_count_;
  }
  progress_.unsent = std::move(x);
  if (!progress_.flush_armed)
    send_progress();
}

void job_actor_state::send_progress() {
  auto unsent = std::exchange(progress_.unsent, {});
  progress_.flush_armed = unsent.has_value();
  if (!unsent)
    return;
  caf::anon_send(owner_,
                 progress_write{unsent->seq, unsent->run, unsent->percent,
                                std::move(unsent->message)});
  self_->delayed_send(self_, options_.progress_interval, flush_atom_v,
                      progress_count_);
}

// -- the executor -------------------------------------------------------------

void job_actor_state::spawn_executor() {
  executor_ = make_executor_(job_actor{self_});
  executor_meter_ = meter_of(executor_);
  executor_started_ = self_->clock().now();
  self_->monitor(executor_);
}

void job_actor_state::replace_executor(const std::string& job_id) {
  ++abandoned_;
  replacements_.push_back(
    {wall_clock(), "job " + job_id + " ignored the request to stop", false});
  if (replacements_.size() > most_restart_notes)
    replacements_.pop_front();
  self_->demonitor(executor_);
  caf::anon_send_exit(executor_, caf::exit_reason::kill);
  spawn_executor();
}

actor_report job_actor_state::status() const {
  actor_report result;
  result.state = !bundle_ ? "idle" : stopped_ ? "stopping" : "running";
  result.mailbox = self_->mailbox().size();
  result.counts = {{"runs", runs_}};
  if (bundle_) {
    auto current = bundle_->current();
    const auto* what = current ? current->what : &bundle_->runs().front();
    auto since = current ? current->since : started_;
    result.job = current_job{what->job.id, what->job.type,
                             wall_clock(self_->clock().now() - since)};
    result.mailbox += open_ - 1;
  }
  if (abandoned_ > 0)
    result.last_error = std::to_string(abandoned_) + " executors abandoned";
  result.children.push_back(describe_executor(result));
  return result;
}

// It cannot be asked while a processor has its thread.
actor_report job_actor_state::describe_executor(const actor_report& own) const {
  actor_report result;
  result.name = "executor";
  result.id = executor_.id();
  result.state = own.state;
  result.job = own.job;
  if (executor_meter_)
    describe(*executor_meter_, result);
  result.restarts = abandoned_;
  result.restart_history = {replacements_.begin(), replacements_.end()};
  if (!replacements_.empty())
    result.last_error = replacements_.back().reason;
  result.uptime = in_ms(self_->clock().now() - executor_started_);
  return result;
}

} // namespace reeve
