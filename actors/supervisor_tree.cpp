// actors/supervisor_tree.cpp -- the tree of actors: what each says of itself,
// and what can be seen of those that say nothing.
#include "actors/supervisor.hpp"

#include "config/duration.hpp"

#include <iterator>
#include <utility>

namespace reeve {

namespace {

// What only the actor knows. The rest was seen from outside, just before it was
// asked.
void add_own(actor_report& shown, actor_report& own) {
  shown.state = std::move(own.state);
  shown.mailbox = own.mailbox;
  // Who has no meter may count for itself.
  if (!shown.handling)
    shown.messages = own.messages;
  shown.counts = std::move(own.counts);
  shown.job = std::move(own.job);
  shown.commits = std::move(own.commits);
  shown.lane = std::move(own.lane);
  shown.children = std::move(own.children);
  if (!own.last_error.empty())
    shown.last_error = std::move(own.last_error);
}

// A child without a number of its own has its parent's: `executor-1`.
void flatten(actor_report&& x, std::vector<actor_report>& out) {
  auto children = std::move(x.children);
  x.children.clear();
  auto parent = x.name;
  out.push_back(std::move(x));
  auto number = parent.find('-');
  for (auto& child : children) {
    child.parent = parent;
    if (number != std::string::npos)
      child.name += parent.substr(number);
    flatten(std::move(child), out);
  }
}

struct fan_in {
  std::vector<actor_report> shown;
  size_t open = 1;
  caf::typed_response_promise<tree_report> promise;

  void finish_one() {
    if (--open > 0)
      return;
    tree_report result;
    for (auto& x : shown)
      flatten(std::move(x), result.actors);
    promise.deliver(std::move(result));
  }
};

} // namespace

caf::result<tree_report> supervisor_state::tree() {
  auto gathered = std::make_shared<fan_in>();
  gathered->promise = self_->make_response_promise<tree_report>();
  gathered->shown.push_back(describe_self());
  for (const auto& x : children_.all())
    gathered->shown.push_back(describe(x));
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
        [gathered, index](actor_report& own) {
          add_own(gathered->shown[index], own);
          gathered->finish_one();
        },
        [gathered, index](const caf::error&) {
          gathered->shown[index].state = "unresponsive";
          gathered->finish_one();
        });
  }
  auto promise = gathered->promise;
  gathered->finish_one();
  return promise;
}

actor_report supervisor_state::describe(const child& x) const {
  auto now = self_->clock().now();
  actor_report result;
  if (x.handle && x.meter)
    reeve::describe(*x.meter, result);
  result.name = x.name;
  result.parent = "supervisor";
  result.id = x.handle ? x.handle.id() : 0;
  result.state = to_string(x.state);
  result.restarts = x.restarts;
  result.restart_history = {x.history.begin(), x.history.end()};
  result.budget = children_.left_of(x, now);
  result.last_error = x.last_error;
  if (x.handle)
    result.uptime = in_ms(now - x.started_at);
  return result;
}

actor_report supervisor_state::describe_self() const {
  actor_report result;
  if (auto meter = meter_of(supervisor_actor{self_}))
    reeve::describe(*meter, result);
  result.name = "supervisor";
  result.id = self_->id();
  result.state = stopping_ || draining_ ? "draining"
    : recovered_                        ? "running"
                                        : "starting";
  result.mailbox = self_->mailbox().size();
  result.counts = {{"decisions", decisions_}};
  result.uptime = in_ms(self_->clock().now() - started_at_);
  return result;
}

} // namespace reeve
