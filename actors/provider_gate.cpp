// actors/provider_gate.cpp -- the rules of a lane, with callers that wait and
// die.
#include "actors/provider_gate.hpp"

#include "config/log.hpp"

#include <caf/actor_cast.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace reeve {

namespace {

// A permit outlives the gate that gave it; its number must mean nothing to the
// gate's successor. Ids of actors are never used twice in a process.
uint64_t first_ticket(caf::actor_id gate) {
  return (static_cast<uint64_t>(gate) << 32) + 1;
}

} // namespace

provider_gate_state::provider_gate_state(provider_gate_actor::pointer self,
                                         lane_options options,
                                         lane_watcher_actor watcher,
                                         uint64_t seed)
  : self_(self),
    lane_(std::move(options), first_ticket(self->id())),
    watcher_(std::move(watcher)),
    random_(seed),
    metrics_(self->system(), lane_.report(self->clock().now()).name) {
  // nop
}

provider_gate_state::~provider_gate_state() {
  for (auto& [ticket, who] : callers_)
    if (who.open.pending())
      who.open.deliver(
        caf::make_error(ec::store_unavailable, "the gate is restarting"));
}

provider_gate_actor::behavior_type provider_gate_state::make_behavior() {
  self_->set_down_handler(
    [this](const caf::down_msg& x) { on_down(x.source); });
  return {
    [this](status_atom) { return status(); },
    [this](const permit_request& x) { return ask(x); },
    [this](const permit_return& x) { give_back(x); },
    [this](const resume_lane&) {
      resume();
      return done{};
    },
    [this](const lanes_query&) { return lane_.report(self_->clock().now()); },
    [this](caf::tick_atom) {
      armed_for_.reset();
      advance();
    },
  };
}

caf::result<permit_answer> provider_gate_state::ask(const permit_request& x) {
  // In this order: the promise takes the sender with it.
  auto holder = caf::actor_cast<caf::actor_addr>(self_->current_sender());
  auto promise = self_->make_response_promise<permit_answer>();
  if (holder && !knows(holder))
    self_->monitor(holder);
  callers_.emplace(lane_.ask(x.tokens), caller{holder, promise});
  advance();
  return promise;
}

void provider_gate_state::give_back(const permit_return& x) {
  auto now = self_->clock().now();
  lane_.give_back(x.permit, x.how, now, random());
  if (auto i = callers_.find(x.permit); i != callers_.end())
    metrics_.called(x.how, now - i->second.since);
  if (x.how && x.how->effect != lane_effect::none)
    last_error_ = x.how->message;
  forget(x.permit);
  advance();
}

void provider_gate_state::on_down(const caf::actor_addr& holder) {
  std::vector<uint64_t> lost;
  for (const auto& [ticket, who] : callers_)
    if (who.holder == holder)
      lost.push_back(ticket);
  for (auto ticket : lost) {
    const auto& who = callers_.at(ticket);
    if (!who.open.pending())
      metrics_.called(std::nullopt, self_->clock().now() - who.since);
    lane_.give_back(ticket, std::nullopt, self_->clock().now(), random());
    callers_.erase(ticket);
  }
  advance();
}

void provider_gate_state::forget(uint64_t ticket) {
  auto i = callers_.find(ticket);
  if (i == callers_.end())
    return;
  auto holder = i->second.holder;
  callers_.erase(i);
  if (holder && !knows(holder))
    self_->demonitor(holder);
}

bool provider_gate_state::knows(const caf::actor_addr& holder) const {
  auto is_holder = [&](const auto& x) { return x.second.holder == holder; };
  return std::any_of(callers_.begin(), callers_.end(), is_holder);
}

void provider_gate_state::resume() {
  lane_.resume();
  last_error_.clear();
  advance();
}

void provider_gate_state::advance() {
  for (auto& [ticket, answer] : lane_.advance(self_->clock().now())) {
    auto i = callers_.find(ticket);
    if (i == callers_.end())
      continue;
    auto is_no = answer.permit == 0;
    i->second.since = self_->clock().now();
    i->second.open.deliver(std::move(answer));
    if (is_no)
      forget(ticket);
  }
  tell();
  arm();
}

void provider_gate_state::tell() {
  auto now = self_->clock().now();
  auto state = lane_.state(now);
  auto opens_at = lane_.opens_at(now);
  if (state == told_ && opens_at == told_opens_at_)
    return;
  auto report = lane_.report(now);
  if (state != told_)
    log::info("gate.changed",
              {{"lane", report.name},
               {"state", to_string(state)},
               {"reason", report.reason}});
  told_ = state;
  told_opens_at_ = opens_at;
  self_->send(watcher_, std::move(report));
}

void provider_gate_state::arm() {
  auto now = self_->clock().now();
  auto next = lane_.next_change(now);
  if (!next || (armed_for_ && *armed_for_ <= *next))
    return;
  armed_for_ = next;
  self_->delayed_send(self_, *next - now, caf::tick_atom_v);
}

double provider_gate_state::random() {
  return std::uniform_real_distribution<double>{}(random_);
}

actor_report provider_gate_state::status() const {
  auto report = lane_.report(self_->clock().now());
  actor_report result;
  result.state = to_string(report.state);
  result.mailbox = self_->mailbox().size() + report.waiting;
  result.counts = {{"calls", report.calls}};
  result.last_error = report.reason.empty() ? last_error_ : report.reason;
  result.lane = std::move(report);
  return result;
}

} // namespace reeve
