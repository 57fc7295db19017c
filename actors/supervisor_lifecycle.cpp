// actors/supervisor_lifecycle.cpp -- start in order, drain, stop in reverse.
#include "actors/supervisor.hpp"

#include "config/log.hpp"

#include <caf/actor_cast.hpp>

#include <algorithm>
#include <utility>

namespace reeve {

namespace {

using namespace std::chrono_literals;

/// Until a child whose factory found no database is started again.
constexpr auto factory_retry = 1s;
/// How long the boot sweep waits between tries.
constexpr auto sweep_retry = 500ms;
constexpr auto sweep_timeout = 60s;
/// How long ends of runs may wait for their commit at the end of a drain.
constexpr auto settle_grace = 5s;
/// How long one child may take to stop before it is killed.
constexpr auto stop_grace = 2s;

template <class Handle>
caf::actor untyped(const Handle& x) {
  return caf::actor_cast<caf::actor>(x);
}

} // namespace

// -- start --------------------------------------------------------------------

void supervisor_state::add_children() {
  using enum child_kind;
  children_.add("event-hub", essential,
                [this] { return untyped(hub_ = factories_.event_hub()); });
  children_.add("db", essential,
                [this] { return untyped(db_ = factories_.db(self_)); });
  if (factories_.claimer)
    children_.add("claimer", essential,
                  [this] { return untyped(claimer_ = factories_.claimer()); });
  children_.add("query", essential,
                [this] { return untyped(query_ = factories_.query()); });
  if (factories_.recall)
    children_.add("recall", essential,
                  [this] { return untyped(recall_ = factories_.recall()); });
  if (factories_.embedder)
    children_.add("embedder", essential, [this] {
      return untyped(embedder_ = factories_.embedder(self_));
    });
  children_.add("recovery", essential, [this] {
    return untyped(recovery_ = factories_.recovery(self_));
  });
  if (factories_.janitor)
    children_.add("janitor", essential,
                  [this] { return untyped(factories_.janitor(self_)); });
  children_.add("scheduler", essential, [this] {
    return untyped(scheduler_ = factories_.scheduler(self_));
  });
  if (factories_.listener)
    children_.add("listener", essential,
                  [this] { return untyped(factories_.listener(self_)); });
  add_gates();
  slots_.resize(options_.workers);
  for (size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].name = "job-" + std::to_string(i + 1);
    children_.add(slots_[i].name, slot, [this, i] {
      return untyped(slots_[i].handle = factories_.job(self_, self_));
    });
  }
  if (factories_.gateway)
    children_.add("gateway", essential, [this] {
      return untyped(gateway_ = factories_.gateway(self_));
    });
}

void supervisor_state::add_gates() {
  gates_.resize(factories_.gates.size());
  for (size_t i = 0; i < gates_.size(); ++i) {
    const auto& lane = factories_.gates[i].lane;
    gates_[i].lane = lane;
    children_.add("gate:" + lane, child_kind::essential, [this, i] {
      auto& gate = gates_[i];
      // Whatever its predecessor had learned, a new gate starts open.
      gate.last = lane_report{};
      gate.last.name = gate.lane;
      gate.handle = factories_.gates[i].spawn(self_);
      return untyped(gate.handle);
    });
  }
}

caf::result<uint16_t> supervisor_state::boot() {
  boot_promise_ = self_->make_response_promise<uint16_t>();
  for (auto& x : children_.all())
    if (x.name != "gateway" && x.name != "listener")
      start(x);
  recover();
  return boot_promise_;
}

void supervisor_state::start(child& x) {
  try {
    children_.on_started(x, x.start(), self_->clock().now());
  } catch (const store_unavailable& err) {
    // The database is away: nobody's fault, hence outside the budget.
    x.state = child_state::backing_off;
    x.last_error = err.what();
    self_->delayed_send(self_, factory_retry, restart_atom_v, x.name);
    return;
  }
  self_->monitor(x.handle);
}

void supervisor_state::recover() {
  auto again = [this](const caf::error& err) {
    log::warn("supervisor.boot-sweep-failed", {{"error", to_string(err)}});
    self_->run_delayed(sweep_retry, [this] { recover(); });
  };
  if (!recovery_)
    return again(ec::store_unavailable);
  self_->request(recovery_, sweep_timeout, sweep_atom_v)
    .then([this](uint32_t) { serve(); }, again);
}

void supervisor_state::serve() {
  if (stopping_)
    return;
  recovered_ = true;
  self_->send(self_, caf::tick_atom_v);
  look_for_work();
  if (!claim_)
    open_up();
}

// Once the first claim is answered, be it with an error: until then its jobs
// need the cores. What is announced meanwhile is found when the listener, once
// it listens, has the node look for work.
void supervisor_state::open_up() {
  if (std::exchange(is_open_, true) || stopping_)
    return;
  if (auto* listener = children_.find("listener"))
    start(*listener);
  auto* gateway = children_.find("gateway");
  if (gateway == nullptr)
    return boot_promise_.deliver(uint16_t{0});
  start(*gateway);
  self_->request(gateway_, listen_timeout, caf::get_atom_v)
    .then([this](uint16_t port) { boot_promise_.deliver(port); },
          [this](caf::error& err) { boot_promise_.deliver(std::move(err)); });
}

// -- stop ---------------------------------------------------------------------

caf::result<drain_report> supervisor_state::drain() {
  auto promise = self_->make_response_promise<drain_report>();
  drain_promises_.push_back(promise);
  if (draining_)
    return promise;
  draining_ = true;
  log::info("supervisor.draining", {{"running", slots_.size() - free_slots()}});
  self_->delayed_send(self_, options_.shutdown_grace, interrupt_atom_v);
  hand_out_ahead();
  give_back_unbegun();
  finish_drain_when_idle();
  return promise;
}

void supervisor_state::interrupt_runs() {
  auto how =
    outcome::interrupted("The node shut down while the job was running");
  for (auto& where : slots_)
    drained_.returned += static_cast<uint32_t>(end_early(where, how));
  // The ends get a little time to be written; the next boot finds the rest.
  self_->run_delayed(settle_grace, [this] {
    drained_.unsettled = static_cast<uint32_t>(unsettled_.size());
    if (drained_.unsettled > 0)
      exit_reason_ = caf::make_error(ec::store_unavailable,
                                     "the ends of some runs were not written");
    stop_children();
  });
  finish_drain_when_idle();
}

void supervisor_state::finish_drain_when_idle() {
  auto is_busy = [](const slot& x) { return !x.runs.empty(); };
  if (draining_ && !stopping_ && !claim_ && unsettled_.empty()
      && std::none_of(slots_.begin(), slots_.end(), is_busy))
    stop_children();
}

void supervisor_state::stop_children() {
  if (std::exchange(stopping_, true))
    return;
  if (!hub_)
    return stop_next();
  // Watchers hear of the last ends before their connections end: what the hub
  // got before this, it has told them once it answers.
  self_->request(hub_, stop_grace, status_atom_v)
    .then([this](const actor_report&) { stop_next(); },
          [this](const caf::error&) { stop_next(); });
}

void supervisor_state::stop_next() {
  auto& all = children_.all();
  auto is_alive = [](const child& x) { return static_cast<bool>(x.handle); };
  auto last = std::find_if(all.rbegin(), all.rend(), is_alive);
  if (last != all.rend()) {
    self_->send_exit(last->handle, caf::exit_reason::user_shutdown);
    self_->run_delayed(stop_grace, [this, late = last->handle] {
      self_->send_exit(late, caf::exit_reason::kill);
    });
    return;
  }
  log::info("supervisor.stopped",
            {{"finished", drained_.finished},
             {"returned", drained_.returned},
             {"unsettled", drained_.unsettled}});
  if (exit_reason_ && boot_promise_.pending())
    boot_promise_.deliver(exit_reason_);
  for (auto& promise : drain_promises_)
    promise.deliver(drained_);
  self_->quit(exit_reason_ ? exit_reason_
                           : caf::error{caf::exit_reason::user_shutdown});
}

} // namespace reeve
