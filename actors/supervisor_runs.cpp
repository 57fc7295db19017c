// actors/supervisor_runs.cpp -- from the end of a run to its commit, and what
// may stop it before.
#include "actors/supervisor.hpp"

#include "config/log.hpp"

#include <algorithm>
#include <utility>

namespace reeve {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// Until a write that failed for the store's reasons is tried again.
constexpr auto write_retry = 500ms;

} // namespace

// -- ends of runs -------------------------------------------------------------

void supervisor_state::on_reports(run_reports& x) {
  std::vector<run_end> ends;
  ends.reserve(x.ended.size() + x.returned.size());
  for (auto& report : x.ended) {
    auto run = take_run({report.seq, report.run});
    if (!run)
      continue;
    if (options_.types.contains(run->claimed().type))
      paces_[run->claimed().type].add(report.took.count() > 0 ? report.took
                                                              : pace::budget);
    if (draining_)
      ++drained_.finished;
    if (auto end = end_of(std::move(*run), std::move(report.result)))
      ends.push_back(std::move(*end));
  }
  give_back(ends, x.returned, "runs before it took longer than expected");
  settle(std::move(ends));
  hand_out_ahead();
  count_running();
  look_if_any_is_left();
  finish_drain_when_idle();
}

std::optional<supervisor_state::active_run> supervisor_state::take_run(
  run_key which) {
  for (auto& where : slots_) {
    auto* run = where.find(which);
    if (run == nullptr)
      continue;
    auto result = std::move(*run);
    where.runs.erase(which.first);
    return result;
  }
  return std::nullopt;
}

// Empty: somebody else decides about the job.
std::optional<supervisor_state::run_end> supervisor_state::end_of(
  active_run run, outcome result) {
  if (run.stopped == stop_reason::lease_lost) {
    metrics_.fenced();
    return std::nullopt;
  }
  if (run.stopped == stop_reason::cancelled
      && result.kind != run_outcome::completed)
    result.kind = run_outcome::cancelled;
  return run_end{std::move(run), std::move(result)};
}

supervisor_state::run_end supervisor_state::given_back(active_run run,
                                                       std::string why) {
  outcome result;
  result.kind = run_outcome::interrupted;
  return {std::move(run), std::move(result), std::move(why)};
}

void supervisor_state::give_back(std::vector<run_end>& ends,
                                 const std::vector<run_key>& unbegun,
                                 std::string_view why) {
  for (auto which : unbegun)
    if (auto run = take_run(which))
      ends.push_back(given_back(std::move(*run), std::string{why}));
}

void supervisor_state::on_slot_lost(slot& where, const outcome& as) {
  where.handle = nullptr;
  end_early(where, as);
  look_if_any_is_left();
  finish_drain_when_idle();
}

// Only the run that its executor is at ends so: those before it have their own
// ends, those behind it were never begun.
size_t supervisor_state::end_early(slot& where, const outcome& as) {
  if (where.runs.empty())
    return 0;
  run_reports last;
  last.returned = where.bundle->take_back();
  last.ended = where.bundle->take_reports();
  // Its executor may be busy still: tell it, and fence it by the next run.
  where.bundle->stop();
  std::vector<run_end> ends;
  auto add = [&](run_key which, outcome how) {
    if (auto run = take_run(which))
      if (auto end = end_of(std::move(*run), std::move(how)))
        ends.push_back(std::move(*end));
  };
  for (auto& x : last.ended)
    add({x.seq, x.run}, std::move(x.result));
  give_back(ends, last.returned, "its slot went away");
  while (!where.runs.empty())
    add(key_of(where.runs.begin()->second.claimed()), as);
  auto result = ends.size();
  settle(std::move(ends));
  count_running();
  return result;
}

void supervisor_state::give_back_unbegun() {
  std::vector<run_end> ends;
  for (auto& where : slots_)
    if (!where.runs.empty())
      give_back(ends, where.bundle->take_back(), "the node is shutting down");
  drained_.returned += static_cast<uint32_t>(ends.size());
  settle(std::move(ends));
}

void supervisor_state::settle(std::vector<run_end> ends) {
  if (ends.empty())
    return;
  std::vector<run_key> keys;
  keys.reserve(ends.size());
  for (auto& x : ends) {
    auto key = key_of(x.run.claimed());
    auto started = x.run.started;
    unsettled_.insert_or_assign(key, unsettled_run{decide_on(x), started});
    keys.push_back(key);
  }
  send_settles(std::move(keys), false);
}

settle_write supervisor_state::decide_on(run_end& x) {
  ++decisions_;
  auto random = std::uniform_real_distribution<double>{}(random_);
  auto retry = options_.retry;
  if (auto own = type(x.run.claimed().type).backoff; own.count() > 0)
    retry.backoff = own;
  auto what =
    decide(x.run.claimed(), x.result.kind, x.result.delay, retry, random);
  // A run that was never begun is given back however often that happened.
  if (!x.why.empty())
    what = {verdict::retry_unspent, milliseconds{0}, std::move(x.why)};
  if (!x.run.is_short || x.result.kind != run_outcome::completed)
    log::info("job.ended",
              {{"job", x.run.claimed().id},
               {"type", x.run.claimed().type},
               {"run", x.run.claimed().run},
               {"outcome", to_string(x.result.kind)},
               {"decision", to_string(what.what)},
               {"why", what.why},
               {"delay_ms", what.delay.count()},
               log::optional("trace_id", x.run.claimed().trace.id())});
  settle_write result;
  result.claimed = x.run.claimed_ptr();
  result.owner = options_.owner;
  result.outcome = x.result.kind;
  result.decision = what.what;
  result.result = std::move(x.result.result);
  result.effects = std::move(x.result.effects);
  result.error = std::move(x.result.message);
  result.why = std::move(what.why);
  result.delay = what.delay;
  return result;
}

void supervisor_state::send_settles(std::vector<run_key> keys, bool repeated) {
  std::erase_if(keys, [this](run_key x) { return !unsettled_.contains(x); });
  if (keys.empty())
    return;
  settle_list list;
  list.reserve(keys.size());
  for (auto x : keys)
    list.push_back(unsettled_.at(x).write);
  auto failed = [this, keys](const caf::error& err) {
    std::vector<run_key> again;
    for (auto key : keys)
      if (on_settle_failed(key, err))
        again.push_back(key);
    after_settles(std::move(again));
  };
  if (!db_)
    return failed(ec::store_unavailable);
  auto done = [this, keys](const settled& x) {
    std::vector<run_key> again;
    for (size_t i = 0; i < keys.size(); ++i)
      if (!x.refusals[i])
        on_settled(keys[i]);
      else if (on_settle_failed(keys[i], make_error(*x.refusals[i])))
        again.push_back(keys[i]);
    after_settles(std::move(again));
  };
  self_->request(db_, options_.write_timeout, std::move(list), repeated)
    .then(std::move(done), std::move(failed));
}

void supervisor_state::after_settles(std::vector<run_key> again) {
  if (!again.empty())
    self_->run_delayed(write_retry, [this, again = std::move(again)] {
      send_settles(again, true);
    });
  look_if_any_is_left();
  finish_drain_when_idle();
}

void supervisor_state::on_settled(run_key key) {
  auto i = unsettled_.find(key);
  if (i == unsettled_.end())
    return;
  const auto& write = i->second.write;
  metrics_.run_ended(write.claimed->type, write.outcome,
                     self_->clock().now() - i->second.started);
  // There may be room for one on another node now.
  if (db_ && type(write.claimed->type).concurrency > 0)
    self_->send(db_, announce_atom_v);
  unsettled_.erase(i);
}

// True when it is to be tried again, for the store's reasons.
bool supervisor_state::on_settle_failed(run_key key, const caf::error& err) {
  auto i = unsettled_.find(key);
  if (i == unsettled_.end())
    return false;
  auto& write = i->second.write;
  if (err == ec::lease_lost) {
    metrics_.fenced();
    log::warn("job.fenced",
              {{"job", write.claimed->id},
               {"run", write.claimed->run},
               log::optional("trace_id", write.claimed->trace.id())});
  } else if (err == ec::invalid_argument
             && write.decision == verdict::complete) {
    // What the processor made cannot be stored: that will not change.
    write.decision = verdict::fail;
    write.outcome = run_outcome::failed_permanently;
    write.error = "The result could not be stored: " + to_string(err);
    write.why = "trying again cannot help";
    write.result = {};
    write.effects.clear();
    send_settles({key}, false);
    return false;
  } else if (err == ec::invalid_argument || err == ec::not_found
             || err == ec::conflict) {
    refused_.insert(key);
    log::error("job.settle-refused",
               {{"job", write.claimed->id},
                {"error", to_string(err)},
                log::optional("trace_id", write.claimed->trace.id())});
  } else {
    return true;
  }
  unsettled_.erase(i);
  return false;
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
  give_back_unknown(x.leases);
  std::unordered_map<int64_t, const held_lease*> held;
  for (const auto& lease : x.leases)
    held.emplace(lease.seq, &lease);
  for (auto& where : slots_) {
    for (auto& [seq, run] : where.runs) {
      if (run.started >= asked_at)
        continue;
      auto i = held.find(seq);
      if (i == held.end() || i->second->run != run.claimed().run) {
        log::warn("lease.lost",
                  {{"job", run.claimed().id},
                   {"run", run.claimed().run},
                   log::optional("trace_id", run.claimed().trace.id())});
        stop_run(where, run, stop_reason::lease_lost);
      } else if (i->second->cancel_requested) {
        stop_run(where, run, stop_reason::cancelled);
      }
    }
  }
}

// A server may go on with a claim whose connection is gone, and commit it after
// another look found nothing: what it took runs nowhere. Seen once, it may be a
// run whose end shared the renewal's transaction.
void supervisor_state::give_back_unknown(const std::vector<held_lease>& held) {
  auto is_on_its_way = [this](const held_lease& x) {
    return claim_ && claim_->what.token == x.claim_token;
  };
  std::set<run_key> found;
  settle_list back;
  for (const auto& x : held) {
    run_key key{x.seq, x.run};
    if (is_on_its_way(x) || knows(key))
      continue;
    found.insert(key);
    if (!unknown_.contains(key))
      continue;
    job what;
    what.seq = x.seq;
    what.run = x.run;
    settle_write one;
    one.claimed = std::make_shared<const job>(std::move(what));
    one.owner = options_.owner;
    one.outcome = run_outcome::interrupted;
    one.decision = verdict::retry_unspent;
    one.why = "its claim was answered to nobody";
    back.push_back(std::move(one));
  }
  unknown_ = std::move(found);
  if (back.empty() || !db_)
    return;
  log::warn("lease.unknown", {{"runs", back.size()}});
  // What this does not do the next renewal will.
  self_->request(db_, options_.write_timeout, std::move(back), true)
    .then([](const settled&) {}, [](const caf::error&) {});
}

// Whether the run is one of this node's, be it only its end that is still to be
// written.
bool supervisor_state::knows(run_key which) const {
  auto runs_it = [which](const slot& x) { return x.find(which) != nullptr; };
  return unsettled_.contains(which) || refused_.contains(which)
    || std::ranges::any_of(slots_, runs_it)
    || std::ranges::any_of(
           ahead_, [which](const job& x) { return key_of(x) == which; });
}

void supervisor_state::stop_run(slot& where, active_run& run, stop_reason why) {
  if (run.stopped != stop_reason::none)
    return;
  run.stopped = why;
  self_->send(where.handle, interrupt_atom_v, run.claimed().seq,
              run.claimed().run);
}

// A run that no slot has yet is told when one has it.
void supervisor_state::cancel(const job_ptr& what) {
  auto which = key_of(*what);
  for (auto& where : slots_)
    if (auto* run = where.find(which))
      return stop_run(where, *run, stop_reason::cancelled);
  auto waits = [&](const job& x) { return key_of(x) == which; };
  if (auto i = std::ranges::find_if(ahead_, waits); i != ahead_.end())
    *i = *what;
  else if (claim_)
    cancelled_early_.push_back(what);
}

void supervisor_state::count_running() {
  auto is_busy = [](const slot& x) { return !x.runs.empty(); };
  metrics_.slots(slots_.size(),
                 static_cast<size_t>(std::ranges::count_if(slots_, is_busy)));
}

} // namespace reeve
