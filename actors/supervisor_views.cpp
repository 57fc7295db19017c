// actors/supervisor_views.cpp -- what operators see: types, lanes, and why a
// job waits.
#include "actors/supervisor.hpp"

#include <algorithm>
#include <utility>

namespace reeve {

namespace {

using namespace std::chrono_literals;

constexpr auto read_timeout = 10s;

} // namespace

// -- lanes and types ----------------------------------------------------------

void supervisor_state::with_lanes(std::function<void(lane_reports)> f) {
  struct fan_in {
    lane_reports reports;
    size_t open = 1;
    std::function<void(lane_reports)> deliver;
  };
  auto gathered = std::make_shared<fan_in>();
  gathered->deliver = std::move(f);
  for (const auto& x : gates_)
    gathered->reports.push_back(x.last);
  auto finish_one = [gathered] {
    if (--gathered->open == 0)
      gathered->deliver(std::move(gathered->reports));
  };
  for (size_t i = 0; i < gates_.size(); ++i) {
    if (!gates_[i].handle)
      continue;
    ++gathered->open;
    self_->request(gates_[i].handle, status_timeout, lanes_query{})
      .then(
        [gathered, i, finish_one](lane_report& x) {
          gathered->reports[i] = std::move(x);
          finish_one();
        },
        [finish_one](const caf::error&) { finish_one(); });
  }
  finish_one();
}

caf::result<lane_reports> supervisor_state::lanes() {
  auto promise = self_->make_response_promise<lane_reports>();
  with_lanes(
    [promise](lane_reports x) mutable { promise.deliver(std::move(x)); });
  return promise;
}

caf::result<type_reports> supervisor_state::types() {
  if (!query_)
    return caf::make_error(ec::store_unavailable, "the actor is restarting");
  auto promise = self_->make_response_promise<type_reports>();
  auto deliver = [this, promise](type_states& pauses) {
    with_lanes([=, this, pauses = std::move(pauses)](lane_reports x) mutable {
      type_reports result;
      for (const auto& [type, lanes] : options_.types)
        result.push_back(describe_type(type, pauses, x));
      promise.deliver(std::move(result));
    });
  };
  self_->request(query_, read_timeout, pauses_query{})
    .then(std::move(deliver), [promise](caf::error& err) mutable {
      promise.deliver(std::move(err));
    });
  return promise;
}

type_report supervisor_state::describe_type(const std::string& type,
                                            const type_states& pauses,
                                            const lane_reports& lanes) const {
  const auto& options = this->type(type);
  type_report result;
  result.type = type;
  result.running = static_cast<uint32_t>(running_of(type));
  result.concurrency = options.concurrency;
  result.timeout =
    std::chrono::duration_cast<std::chrono::milliseconds>(options.timeout);
  result.max_attempts = options.max_attempts;
  for (const auto& x : pauses)
    if (x.type == type && x.paused) {
      result.paused = true;
      result.reason = x.reason;
      result.paused_since = x.since;
    }
  const auto& needed = options_.types.at(type);
  for (const auto& x : lanes)
    if (std::find(needed.begin(), needed.end(), x.name) != needed.end())
      result.lanes.push_back(x);
  return result;
}

// -- why a job waits ----------------------------------------------------------

caf::result<explanation> supervisor_state::explain(const explain_query& x) {
  if (!query_)
    return caf::make_error(ec::store_unavailable, "the actor is restarting");
  auto promise = self_->make_response_promise<explanation>();
  auto deliver = [this, promise](queue_facts& facts) {
    with_lanes([=, this, facts = std::move(facts)](lane_reports x) mutable {
      promise.deliver(reeve::explain(facts, view_for(facts.job, x)));
    });
  };
  self_->request(query_, read_timeout, facts_query{x.job_id})
    .then(std::move(deliver), [promise](caf::error& err) mutable {
      promise.deliver(std::move(err));
    });
  return promise;
}

node_view supervisor_state::view_for(const job& what,
                                     const lane_reports& lanes) const {
  node_view result;
  result.node = options_.owner.node;
  result.is_draining = draining_;
  result.free_slots = free_slots();
  for (const auto& x : slots_)
    for (const auto& [seq, run] : x.runs)
      result.running.push_back({run.claimed().id, run.claimed().type});
  auto i = options_.types.find(what.type);
  result.has_processor = i != options_.types.end();
  if (!result.has_processor)
    return result;
  result.concurrency = type(what.type).concurrency;
  for (const auto& x : lanes)
    if (std::find(i->second.begin(), i->second.end(), x.name)
        != i->second.end())
      result.lanes.push_back(x);
  return result;
}

} // namespace reeve
