// actors/supervisor_restarts.cpp -- a child that died, or that an operator
// wants anew: what it held is let go of, and another one starts.
#include "actors/supervisor.hpp"

#include "config/log.hpp"

#include <algorithm>
#include <utility>

namespace reeve {

namespace {

// Why an operator may not restart it; empty: it may be done.
std::string_view refusal_of(std::string_view name) {
  if (name == "supervisor")
    return "The supervisor owns all other actors: to restart it is to restart "
           "the node. Stop the process with SIGTERM, which drains it, and "
           "start it again";
  if (name == "db")
    return "The db actor does all that is written, and it reconnects to the "
           "database by itself. Its end would leave clients in doubt about "
           "every write under way; if it must go, restart the node";
  if (name == "gateway")
    return "The gateway carries this very request and every open stream: its "
           "end would cut them all. If it must go, restart the node";
  return {};
}

} // namespace

// -- deaths -------------------------------------------------------------------

void supervisor_state::on_down(const caf::down_msg& x) {
  auto reason = to_string(x.reason);
  auto notice = children_.on_down(x.source, reason, self_->clock().now());
  if (notice.who == nullptr)
    return;
  auto& who = *notice.who;
  if (stopping_) {
    stop_next();
    return;
  }
  log::error("supervisor.child-died",
             {{"actor", who.name}, {"reason", reason}});
  let_go(who);
  if (auto* where = find_slot(who.name))
    on_slot_lost(*where, outcome::lost("The actor that ran the job died"));
  if (notice.restart_after) {
    self_->delayed_send(self_, *notice.restart_after, restart_atom_v, who.name);
    return;
  }
  log::error("supervisor.budget-spent", {{"actor", who.name}});
  auto is_usable = [](const child& c) {
    return c.kind == child_kind::slot && c.state != child_state::degraded;
  };
  const auto& all = children_.all();
  if (who.kind == child_kind::slot
      && std::any_of(all.begin(), all.end(), is_usable))
    return;
  exit_reason_ =
    caf::make_error(ec::restart_limit, who.name + " died too often: " + reason);
  stop_children();
}

// A handle of a dead actor must not be used: requests answer at once.
void supervisor_state::let_go(const child& x) {
  if (x.name == "db")
    db_ = nullptr;
  else if (x.name == "claimer") {
    claimer_ = nullptr;
    if (claim_ && claim_->is_beside)
      give_claimer_up("the claimer is gone");
  } else if (x.name == "query")
    query_ = nullptr;
  else if (x.name == "recall")
    recall_ = nullptr;
  else if (x.name == "embedder")
    embedder_ = nullptr;
  else if (x.name == "event-hub")
    hub_ = nullptr;
  else if (x.name == "scheduler")
    scheduler_ = nullptr;
  for (auto& gate : gates_)
    if ("gate:" + gate.lane == x.name)
      gate.handle = nullptr;
}

void supervisor_state::restart(const std::string& name) {
  auto* who = children_.find(name);
  if (who == nullptr || who->state != child_state::backing_off || stopping_)
    return;
  start_again(*who);
}

void supervisor_state::start_again(child& who) {
  start(who);
  // A gateway whose port is taken ends when it is asked for it.
  if (who.name == "gateway" && who.handle)
    self_->request(gateway_, listen_timeout, caf::get_atom_v)
      .then([](uint16_t) {}, [](const caf::error&) {});
  if (who.state != child_state::running)
    return;
  children_.note_restart(who);
  log::info("supervisor.child-restarted",
            {{"actor", who.name},
             {"restarts", who.restarts},
             {"reason", who.history.back().reason}});
  look_for_work();
}

// -- at an operator's wish ----------------------------------------------------

caf::result<actor_report> supervisor_state::restart(const restart_actor& x) {
  if (draining_ || stopping_)
    return caf::make_error(ec::shutting_down, "the node is shutting down");
  if (auto no = refusal_of(x.name); !no.empty())
    return caf::make_error(ec::conflict, std::string{no});
  auto* who = children_.find(x.name);
  if (who == nullptr)
    return refuse_grandchild(x.name);
  if (who->state == child_state::backing_off)
    return caf::make_error(ec::conflict,
                           "It is being restarted already: " + who->last_error);
  log::warn("supervisor.restart-asked",
            {{"actor", x.name}, {"reason", x.reason}});
  // Nobody waits for the old one: it may hang, and whatever it still does is
  // what any late actor's word is worth.
  if (auto old = who->handle) {
    self_->demonitor(old);
    let_go(*who);
    // Its processor was told to stop, and is given time for it: until then the
    // job would run beside itself.
    if (auto* where = find_slot(who->name))
      on_slot_lost(
        *where,
        outcome::interrupted("Its job actor was restarted by an operator",
                             options_.wedged_grace));
    self_->send_exit(old, caf::exit_reason::kill);
  }
  children_.forgive(*who, x.reason);
  start_again(*who);
  return describe(*who);
}

// Actors of slots have their names by the slot's number.
caf::error supervisor_state::refuse_grandchild(const std::string& name) const {
  constexpr std::string_view prefix = "executor-";
  if (name.starts_with(prefix)) {
    auto owner = "job-" + name.substr(prefix.size());
    auto is_it = [&](const slot& x) { return x.name == owner; };
    if (std::ranges::any_of(slots_, is_it))
      return caf::make_error(ec::conflict,
                             "An executor is its job actor's to "
                             "replace; restart "
                               + owner);
  }
  return caf::make_error(ec::not_found);
}

supervisor_state::slot* supervisor_state::find_slot(std::string_view name) {
  auto i = std::ranges::find(slots_, name, &slot::name);
  return i != slots_.end() ? &*i : nullptr;
}

} // namespace reeve
