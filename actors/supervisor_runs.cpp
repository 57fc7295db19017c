// actors/supervisor_runs.cpp -- from the end of a run to its commit, and what
// may stop it before.
#include "actors/supervisor.hpp"

#include "config/log.hpp"

#include <algorithm>
#include <utility>

namespace reeve {

namespace {

using namespace std::chrono_literals;

/// Until a write that failed for the store's reasons is tried again.
constexpr auto write_retry = 500ms;

} // namespace

// -- ends of runs -------------------------------------------------------------

void supervisor_state::on_report(run_report& x) {
  auto* where = find_run(x.seq, x.run);
  if (where == nullptr)
    return;
  auto run = std::move(*where->run);
  where->run.reset();
  count_running();
  if (run.stopped == stop_reason::lease_lost) {
    // Whoever holds the job now decides about it.
    metrics_.fenced();
  } else {
    if (run.stopped == stop_reason::cancelled
        && x.result.kind != run_outcome::completed)
      x.result.kind = run_outcome::cancelled;
    if (draining_)
      ++drained_.finished;
    settle(run, std::move(x.result));
  }
  look_for_work();
  finish_drain_when_idle();
}

void supervisor_state::on_slot_lost(slot& where) {
  where.handle = nullptr;
  if (where.run)
    end_early(where, run_outcome::lost, "The actor that ran the job died");
  finish_drain_when_idle();
}

bool supervisor_state::end_early(slot& where, run_outcome as,
                                 std::string message) {
  auto run = std::move(*where.run);
  where.run.reset();
  count_running();
  // Its executor may be busy still: tell it, and fence it by the next run.
  run.control->stop.request_stop();
  if (run.stopped == stop_reason::lease_lost) {
    // Whoever holds the job now decides about it.
    metrics_.fenced();
    return false;
  }
  outcome result;
  result.kind =
    run.stopped == stop_reason::cancelled ? run_outcome::cancelled : as;
  result.message = std::move(message);
  settle(run, std::move(result));
  return true;
}

void supervisor_state::settle(const active_run& run, outcome result) {
  ++decisions_;
  auto random = std::uniform_real_distribution<double>{}(random_);
  auto retry = options_.retry;
  if (auto own = options_.type(run.claimed.type).backoff; own.count() > 0)
    retry.backoff = own;
  auto what = decide(run.claimed, result.kind, result.delay, retry, random);
  log::info("job.ended",
            {{"job", run.claimed.id},
             {"type", run.claimed.type},
             {"run", run.claimed.run},
             {"outcome", to_string(result.kind)},
             {"decision", to_string(what.what)},
             {"why", what.why},
             {"delay_ms", what.delay.count()}});
  settle_write write;
  write.claimed = run.claimed;
  write.owner = options_.owner;
  write.outcome = result.kind;
  write.decision = what.what;
  write.result = std::move(result.result);
  write.effects = std::move(result.effects);
  write.error = std::move(result.message);
  write.why = std::move(what.why);
  write.delay = what.delay;
  run_key key{run.claimed.seq, run.claimed.run};
  unsettled_.insert_or_assign(key,
                              unsettled_run{std::move(write), run.started});
  send_settle(key, false);
}

void supervisor_state::send_settle(run_key key, bool repeated) {
  auto i = unsettled_.find(key);
  if (i == unsettled_.end())
    return;
  auto failed = [this, key](const caf::error& err) {
    on_settle_failed(key, err);
  };
  if (!db_)
    return failed(ec::store_unavailable);
  self_->request(db_, options_.write_timeout, i->second.write, repeated)
    .then([this, key](const changed& x) { on_settled(key, x.job); }, failed);
}

void supervisor_state::on_settled(run_key key, const job& now) {
  auto i = unsettled_.find(key);
  if (i == unsettled_.end())
    return;
  metrics_.settled(now.type, i->second.write.outcome,
                   self_->clock().now() - i->second.started);
  unsettled_.erase(i);
  look_for_work();
  finish_drain_when_idle();
}

void supervisor_state::on_settle_failed(run_key key, const caf::error& err) {
  auto i = unsettled_.find(key);
  if (i == unsettled_.end())
    return;
  auto& write = i->second.write;
  if (err == ec::lease_lost) {
    metrics_.fenced();
    log::warn("job.fenced",
              {{"job", write.claimed.id}, {"run", write.claimed.run}});
    unsettled_.erase(i);
  } else if (err == ec::invalid_argument
             && write.decision == verdict::complete) {
    // What the processor made cannot be stored: that will not change.
    write.decision = verdict::fail;
    write.outcome = run_outcome::failed_permanently;
    write.error = "The result could not be stored: " + to_string(err);
    write.why = "trying again cannot help";
    write.result = nullptr;
    write.effects.clear();
    send_settle(key, false);
    return;
  } else if (err == ec::invalid_argument || err == ec::not_found
             || err == ec::conflict) {
    log::error("job.settle-refused",
               {{"job", write.claimed.id}, {"error", to_string(err)}});
    unsettled_.erase(i);
  } else {
    self_->run_delayed(write_retry, [this, key] { send_settle(key, true); });
    return;
  }
  look_for_work();
  finish_drain_when_idle();
}

// -- leases and cancellation --------------------------------------------------

void supervisor_state::renew_leases() {
  self_->delayed_send(self_, options_.lease / 3, caf::tick_atom_v);
  if (!db_ || stopping_)
    return;
  auto asked_at = self_->clock().now();
  self_
    ->request(db_, options_.lease / 3,
              heartbeat_write{options_.owner, options_.lease})
    .then([this, asked_at](const renewed& x) { on_renewed(x, asked_at); },
          [](const caf::error& err) {
            log::debug("lease.renewal-failed", {{"error", to_string(err)}});
          });
}

void supervisor_state::on_renewed(const renewed& x, time_point asked_at) {
  for (auto& where : slots_) {
    if (!where.run || where.run->started >= asked_at)
      continue;
    const auto& job = where.run->claimed;
    auto is_it = [&](const held_lease& lease) {
      return lease.seq == job.seq && lease.run == job.run;
    };
    auto held = std::find_if(x.leases.begin(), x.leases.end(), is_it);
    if (held == x.leases.end()) {
      log::warn("lease.lost", {{"job", job.id}, {"run", job.run}});
      stop_run(where, stop_reason::lease_lost);
    } else if (held->cancel_requested) {
      stop_run(where, stop_reason::cancelled);
    }
  }
}

void supervisor_state::stop_run(slot& where, stop_reason why) {
  if (where.run->stopped != stop_reason::none)
    return;
  where.run->stopped = why;
  const auto& job = where.run->claimed;
  self_->send(where.handle, interrupt_atom_v, job.seq, job.run);
}

supervisor_state::slot* supervisor_state::find_run(int64_t seq, int64_t run) {
  auto is_it = [&](const slot& x) {
    return x.run && x.run->claimed.seq == seq && x.run->claimed.run == run;
  };
  auto i = std::find_if(slots_.begin(), slots_.end(), is_it);
  return i != slots_.end() ? &*i : nullptr;
}

void supervisor_state::count_running() {
  auto is_busy = [](const slot& x) { return x.run.has_value(); };
  metrics_.running(
    static_cast<size_t>(std::count_if(slots_.begin(), slots_.end(), is_busy)));
}

} // namespace reeve
