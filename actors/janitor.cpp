// actors/janitor.cpp -- sweeps by the clock, a page at a time.
#include "actors/janitor.hpp"

#include "config/log.hpp"

#include <utility>

namespace reeve {

janitor_state::janitor_state(janitor_actor::pointer self, pruner_actor pruner,
                             janitor_options options)
  : self_(self),
    pruner_(std::move(pruner)),
    options_(std::move(options)),
    metrics_(self->system()) {
  // nop
}

janitor_actor::behavior_type janitor_state::make_behavior() {
  arm();
  return {
    [this](status_atom) {
      actor_report result;
      result.state = sweeping_ ? "sweeping" : "idle";
      result.mailbox = self_->mailbox().size();
      result.counts = {{"sweeps", sweeps_}};
      result.last_error = last_error_;
      return result;
    },
    [this](caf::tick_atom) {
      sweeping_ = true;
      rule_ = 0;
      last_error_.clear();
      next_page();
    },
    [this](sweep_atom) { next_page(); },
  };
}

void janitor_state::next_page() {
  if (rule_ == options_.rules.size()) {
    sweeping_ = false;
    ++sweeps_;
    return arm();
  }
  const auto& rule = options_.rules[rule_];
  self_
    ->request(
      pruner_, options_.store_timeout,
      prune_write{rule.type, rule.older_than, after_seq_, options_.page})
    .then([this](const pruned& x) { on_pruned(x); },
          [this](const caf::error& err) {
            // The next sweep comes by here again.
            last_error_ = to_string(err);
            log::warn(
              "janitor.sweep-failed",
              {{"type", options_.rules[rule_].type}, {"error", last_error_}});
            next_rule();
          });
}

void janitor_state::on_pruned(const pruned& x) {
  deleted_ += x.jobs;
  metrics_.pruned(x.jobs);
  if (!x.next_after_seq)
    return next_rule();
  after_seq_ = *x.next_after_seq;
  self_->delayed_send(self_, options_.pause, sweep_atom_v);
}

void janitor_state::next_rule() {
  if (deleted_ > 0)
    log::info("janitor.jobs-deleted",
              {{"type", options_.rules[rule_].type}, {"jobs", deleted_}});
  ++rule_;
  after_seq_ = 0;
  deleted_ = 0;
  next_page();
}

void janitor_state::arm() {
  self_->delayed_send(self_, options_.interval, caf::tick_atom_v);
}

} // namespace reeve
