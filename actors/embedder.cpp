// actors/embedder.cpp -- who waits, who is asked for, and what the lane learns.
#include "actors/embedder.hpp"

#include "config/log.hpp"
#include "processors/model_calls.hpp"

#include <caf/actor_cast.hpp>

#include <algorithm>
#include <exception>
#include <utility>
#include <variant>

namespace reeve {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// A gate answers as soon as it can. The permit is for whoever waits then, not
/// for who waited first, so this has nothing to do with an asker's patience: a
/// permit that came after a deadline would be nobody's.
constexpr auto permit_timeout = 24h;
/// How long a model may go on after it was told to stop.
constexpr auto stop_grace = 2s;
/// When those who were refused may try again: a place is free by then.
constexpr auto queue_retry = 1s;

} // namespace

embedder_state::embedder_state(embedder_actor::pointer self,
                               run_services_actor services, lane_key lane,
                               const caller_factory& make_caller,
                               embedder_options options)
  : self_(self),
    services_(std::move(services)),
    lane_(std::move(lane)),
    caller_(make_caller()),
    options_(options) {
  // Neither is of use without the other.
  self_->link_to(caller_);
}

embedder_state::~embedder_state() {
  // The thread is to be free soon: the process waits for it.
  if (running_)
    running_->control.request_stop();
}

embedder_actor::behavior_type embedder_state::make_behavior() {
  return {
    [this](recall_query& x) { return recall(x); },
    [this](status_atom) { return status(); },
  };
}

caf::result<card_hits> embedder_state::recall(recall_query& x) {
  drop_late();
  if (waiting_.size() >= options_.max_waiting)
    return unavailable("too many questions wait for it", queue_retry);
  auto promise = self_->make_response_promise<card_hits>();
  waiting_.push_back(
    {std::move(x), self_->clock().now() + options_.patience, promise});
  self_->run_delayed(options_.patience, [this] { drop_late(); });
  advance();
  return promise;
}

void embedder_state::advance() {
  drop_late();
  if (running_ || asks_for_permit_ || waiting_.empty())
    return;
  auto lane = lane_.name();
  if (lane.empty()) {
    call(0);
    return;
  }
  asks_for_permit_ = true;
  auto tokens = estimated_tokens(waiting_.front().what.text.size());
  self_->request(services_, permit_timeout, permit_request{lane, tokens})
    .then([this](const permit_answer& x) { on_permit(x); },
          [this](const caf::error& err) {
            log::warn("embedder.no-gate", {{"error", to_string(err)}});
            permit_answer no;
            no.reason = "its gate does not answer";
            no.delay = queue_retry;
            on_permit(no);
          });
}

void embedder_state::on_permit(const permit_answer& x) {
  asks_for_permit_ = false;
  drop_late();
  if (x.permit == 0) {
    // What the lane says holds for all who wait.
    for (auto& query : std::exchange(waiting_, {}))
      refuse(query, x.reason, x.delay);
    return;
  }
  if (waiting_.empty())
    give_back(x.permit, std::nullopt);
  else
    call(x.permit);
}

void embedder_state::call(uint64_t permit) {
  running_.emplace(
    running_call{std::move(waiting_.front()), std::stop_source{}, permit});
  waiting_.pop_front();
  ++calls_;
  // Nobody pays for an answer that comes when the asker is gone.
  auto left = running_->query.give_up_at - self_->clock().now();
  auto time = std::min<caf::timespan>(options_.deadline, left);
  self_->run_delayed(time,
                     [control = running_->control] { control.request_stop(); });
  self_
    ->request(caller_, time + stop_grace,
              embedding_request{running_->query.what.text, running_->control})
    .then([this](embedding_answer& x) { on_embedding(x); },
          [this](const caf::error& err) { on_caller_silent(err); });
}

void embedder_state::on_embedding(embedding_answer& x) {
  call_report how;
  how.limits = x.limits;
  how.used = x.used;
  auto& query = running_->query;
  const auto* failure = std::get_if<provider_failure>(&x.result);
  if (failure == nullptr) {
    card_search what;
    what.embedding = std::get<std::vector<float>>(std::move(x.result));
    what.user_id = std::move(query.what.user_id);
    what.limit = query.what.limit;
    query.open.delegate(services_, std::move(what));
    end_call(std::move(how));
    return;
  }
  auto stopped = running_->control.stop_requested();
  how.effect = failure->lane;
  how.delay = failure->delay;
  how.message = failure->message;
  refuse(query, stopped ? "it did not answer in time" : failure->message,
         failure->delay);
  // A call that was broken off tells nothing about its provider.
  if (stopped && failure->lane == lane_effect::none)
    end_call(std::nullopt);
  else
    end_call(std::move(how));
}

// The model ignored its stop token. Only a new actor has a thread to call on.
void embedder_state::on_caller_silent(const caf::error& err) {
  log::error("embedder.caller-wedged", {{"error", to_string(err)}});
  refuse(running_->query, "it did not answer in time", std::nullopt);
  give_back(running_->permit, std::nullopt);
  running_->permit = 0;
  for (auto& query : std::exchange(waiting_, {}))
    refuse(query, "it did not answer in time", queue_retry);
  self_->quit(caf::make_error(ec::provider_unavailable,
                              "a model ignored the request to stop"));
}

void embedder_state::end_call(std::optional<call_report> how) {
  auto permit = running_->permit;
  running_.reset();
  give_back(permit, std::move(how));
  advance();
}

void embedder_state::give_back(uint64_t permit,
                               std::optional<call_report> how) {
  if (permit != 0)
    self_->send(services_, permit_return{lane_.name(), permit, std::move(how)});
}

void embedder_state::drop_late() {
  auto now = self_->clock().now();
  while (!waiting_.empty() && waiting_.front().give_up_at <= now) {
    refuse(waiting_.front(), "it was busy for too long", queue_retry);
    waiting_.pop_front();
  }
}

void embedder_state::refuse(waiting_query& x, const std::string& why,
                            std::optional<milliseconds> delay) {
  last_error_ = why;
  log::warn("embedder.refused",
            {{"provider", lane_.provider}, {"reason", why}});
  x.open.deliver(unavailable(why, delay));
}

caf::error embedder_state::unavailable(
  const std::string& why, std::optional<milliseconds> delay) const {
  auto text = "The provider of embeddings (" + lane_.provider
    + ") cannot be asked now: " + why;
  if (!delay)
    return caf::make_error(ec::provider_unavailable, std::move(text));
  return caf::make_error(ec::provider_unavailable, std::move(text),
                         caf::timespan{*delay});
}

actor_report embedder_state::status() const {
  actor_report result;
  result.state = running_ ? "running" : "idle";
  result.mailbox = self_->mailbox().size() + waiting_.size();
  result.counts = {{"calls", calls_}};
  result.last_error = last_error_;
  return result;
}

// -- embedding_caller ---------------------------------------------------------

embedding_caller_state::embedding_caller_state(
  embedding_caller_actor::pointer, std::shared_ptr<analysis_model> model)
  : model_(std::move(model)) {
  // nop
}

embedding_caller_actor::behavior_type embedding_caller_state::make_behavior() {
  return {
    [this](const embedding_request& x) -> embedding_answer {
      // A model that throws is a model that failed.
      try {
        return model_->embed(x.text, x.control.get_token());
      } catch (const std::exception& err) {
        provider_failure failure;
        failure.message = err.what();
        embedding_answer result;
        result.result = std::move(failure);
        return result;
      }
    },
  };
}

} // namespace reeve
