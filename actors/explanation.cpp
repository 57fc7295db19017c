// actors/explanation.cpp -- the rules of claiming, told as a sentence.
#include "actors/explanation.hpp"

#include "actors/gateway/rfc3339.hpp"

#include <algorithm>
#include <utility>

namespace reeve {

namespace {

explanation make(const queue_facts& facts, std::string code, std::string text) {
  explanation result;
  result.job = facts.job;
  result.code = std::move(code);
  result.text = std::move(text);
  return result;
}

std::string in_quotes(std::string_view text) {
  return text.empty() ? std::string{} : ": " + std::string{text};
}

explanation explain_finished(const queue_facts& facts) {
  const auto& job = facts.job;
  auto text = "It is " + std::string{to_string(job.status)};
  if (job.finished_at)
    text += " since " + to_rfc3339(*job.finished_at);
  return make(facts, "finished",
              text + in_quotes(job.error_message.value_or("")));
}

explanation explain_running(const queue_facts& facts, const node_view& node) {
  const auto& job = facts.job;
  auto is_it = [&](const running_job& x) { return x.id == job.id; };
  auto here = std::any_of(node.running.begin(), node.running.end(), is_it);
  auto text = "It runs on " + (here ? "node " + node.node : "another node");
  if (job.started_at)
    text += " since " + to_rfc3339(*job.started_at);
  if (job.cancel_requested)
    return make(facts, "cancel_requested", text + " and was told to stop");
  return make(facts, "running", text);
}

std::string reason_to_wait(const job& job) {
  auto error = in_quotes(job.error_message.value_or(""));
  if (job.reason == "retry")
    return "attempt " + std::to_string(job.attempts) + " of "
      + std::to_string(job.max_attempts) + " failed" + error;
  if (job.reason == to_string(run_outcome::throttled))
    return "its provider asked to slow down" + error;
  if (job.reason == to_string(run_outcome::provider_down))
    return "its provider was down" + error;
  if (job.reason == to_string(run_outcome::interrupted))
    return "its node stopped";
  if (job.reason == to_string(run_outcome::snoozed))
    return "its processor asked for it";
  if (job.reason.empty())
    return "whoever enqueued it asked for it";
  return job.reason + error;
}

explanation explain_due_later(const queue_facts& facts) {
  auto result = make(facts, "due_later",
                     "It is due at " + to_rfc3339(facts.job.run_at) + ", since "
                       + reason_to_wait(facts.job));
  result.until = facts.job.run_at;
  return result;
}

explanation explain_pause(const queue_facts& facts) {
  return make(facts, "type_paused",
              "The type " + facts.job.type + " is paused since "
                + to_rfc3339(facts.pause->since)
                + in_quotes(facts.pause->reason));
}

bool takes_calls(const lane_report& x) {
  return x.state == lane_state::open;
}

explanation explain_lane(const queue_facts& facts, const lane_report& lane) {
  auto result = make(facts, "lane_closed",
                     "The lane " + lane.name + " is " + to_string(lane.state)
                       + in_quotes(lane.reason));
  if (lane.opens_in) {
    result.until = facts.now + *lane.opens_in;
    result.text += " (until " + to_rfc3339(*result.until) + ')';
  } else if (lane.state == lane_state::probing) {
    result.text += " (one call at a time finds out whether it is back)";
  } else {
    result.text += " (until somebody resumes it)";
  }
  return result;
}

explanation explain_limit(const queue_facts& facts, const node_view& node,
                          const running_job& first) {
  auto result =
    make(facts, "limit_reached",
         "Node " + node.node + " runs at most "
           + std::to_string(node.concurrency) + " jobs of type "
           + facts.job.type + " at once; job " + first.id + " holds a place");
  result.blocking_job = first.id;
  result.ahead = facts.ahead;
  return result;
}

// Names one job only: the gateway hides it from those who may not see it.
explanation explain_busy(const queue_facts& facts, const node_view& node) {
  auto result =
    make(facts, "node_busy", "All workers of node " + node.node + " are busy");
  if (!node.running.empty()) {
    result.blocking_job = node.running.front().id;
    result.text += "; job " + *result.blocking_job + " holds one";
  }
  result.ahead = facts.ahead;
  return result;
}

explanation explain_position(const queue_facts& facts) {
  auto text = facts.ahead == 0
    ? "It starts at once"
    : "It is number " + std::to_string(facts.ahead + 1) + " in the queue";
  auto result = make(facts, facts.ahead == 0 ? "claimable" : "queued", text);
  result.ahead = facts.ahead;
  return result;
}

} // namespace

explanation explain(const queue_facts& facts, const node_view& node) {
  const auto& job = facts.job;
  if (is_final(job.status))
    return explain_finished(facts);
  if (job.status == job_status::processing)
    return explain_running(facts, node);
  if (job.run_at > facts.now)
    return explain_due_later(facts);
  if (facts.pause && facts.pause->paused)
    return explain_pause(facts);
  if (!node.has_processor)
    return make(facts, "no_processor",
                "Node " + node.node + " has no processor for " + job.type);
  if (node.is_draining)
    return make(facts, "node_draining",
                "Node " + node.node + " shuts down and takes no new work");
  auto closed =
    std::find_if_not(node.lanes.begin(), node.lanes.end(), takes_calls);
  if (closed != node.lanes.end())
    return explain_lane(facts, *closed);
  auto is_same_type = [&](const running_job& x) { return x.type == job.type; };
  auto first =
    std::find_if(node.running.begin(), node.running.end(), is_same_type);
  auto same =
    std::count_if(node.running.begin(), node.running.end(), is_same_type);
  if (node.concurrency > 0 && same >= static_cast<ptrdiff_t>(node.concurrency))
    return explain_limit(facts, node, *first);
  if (node.free_slots == 0)
    return explain_busy(facts, node);
  return explain_position(facts);
}

} // namespace reeve
