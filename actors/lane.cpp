// actors/lane.cpp -- concurrency, rate limits, parking, breaker and pause.
#include "actors/lane.hpp"

#include <algorithm>
#include <utility>

namespace reeve {

namespace {

using std::chrono::milliseconds;

/// A 429 wakes all who wait for it at once; this spreads them.
constexpr double throttle_jitter = 0.1;

constexpr std::string_view requests_spent = "its limit of requests is used up";
constexpr std::string_view tokens_spent = "its limit of tokens is used up";

milliseconds in_ms(caf::timespan x) {
  return std::chrono::ceil<milliseconds>(x);
}

} // namespace

lane::lane(lane_options options, uint64_t first_ticket)
  : options_(std::move(options)), next_ticket_(first_ticket) {
  // nop
}

// -- callers ------------------------------------------------------------------

uint64_t lane::ask(uint64_t tokens) {
  waiting_.push_back({next_ticket_, tokens});
  return next_ticket_++;
}

std::vector<lane_answer> lane::advance(time_point now) {
  std::vector<lane_answer> result;
  std::deque<waiting_call> still_waiting;
  for (const auto& call : waiting_) {
    auto closed = closed_for(call.tokens, now);
    auto hopeless = closed.as == lane_state::paused
      || closed.until - now > options_.gate.longest_wait;
    if (hopeless) {
      result.push_back({call.ticket, refuse(closed, now)});
      continue;
    }
    // First come, first served: nobody passes one who waits.
    if (!still_waiting.empty() || closed.until > now
        || !has_room(call.tokens, now)) {
      still_waiting.push_back(call);
      continue;
    }
    in_flight_.emplace(call.ticket, running_call{call.tokens, half_open(now)});
    ++calls_;
    permit_answer yes;
    yes.permit = call.ticket;
    result.push_back({call.ticket, std::move(yes)});
  }
  waiting_ = std::move(still_waiting);
  return result;
}

void lane::give_back(uint64_t ticket, const std::optional<call_report>& how,
                     time_point now, double random) {
  auto is_it = [ticket](const waiting_call& x) { return x.ticket == ticket; };
  std::erase_if(waiting_, is_it);
  auto i = in_flight_.find(ticket);
  if (i == in_flight_.end())
    return;
  auto call = i->second;
  in_flight_.erase(i);
  if (!how || how->limits == rate_limits{})
    spend(call);
  if (how)
    learn(*how, call.is_probe, now, random);
}

void lane::resume() {
  paused_.reset();
  probe_at_.reset();
  outages_ = 0;
  parked_until_ = {};
  requests_.reset();
  input_tokens_.reset();
  output_tokens_.reset();
  // A probe under way is an ordinary call from now on.
  for (auto& [ticket, call] : in_flight_)
    call.is_probe = false;
}

// -- learning -----------------------------------------------------------------

void lane::learn(const call_report& how, bool was_probe, time_point now,
                 double random) {
  refresh(how.limits, now);
  switch (how.effect) {
    case lane_effect::outage:
      count_outage(how, was_probe, now);
      return;
    case lane_effect::throttle: {
      caf::timespan delay = options_.gate.throttle_delay;
      if (how.delay)
        delay = *how.delay;
      auto jitter = 1.0 + throttle_jitter * std::clamp(random, 0.0, 1.0);
      auto until =
        now + std::chrono::duration_cast<time_point::duration>(delay * jitter);
      if (until > parked_until_) {
        parked_until_ = until;
        parked_why_ = how.message;
      }
      break;
    }
    case lane_effect::pause:
      paused_ = how.message;
      break;
    case lane_effect::none:
      break;
  }
  // It answered. A call that began before the outage proves nothing about it.
  if (!probe_at_ || was_probe) {
    outages_ = 0;
    probe_at_.reset();
  }
}

void lane::count_outage(const call_report& how, bool was_probe,
                        time_point now) {
  ++outages_;
  broken_why_ = how.message;
  const auto& gate = options_.gate;
  if (was_probe)
    probe_delay_ = std::min(probe_delay_ * 2, gate.breaker_max_delay);
  else if (!probe_at_ && outages_ >= gate.breaker_failures)
    probe_delay_ = std::min(gate.breaker_delay, gate.breaker_max_delay);
  else
    return;
  caf::timespan delay = probe_delay_;
  if (how.delay)
    delay = std::max<caf::timespan>(delay, *how.delay);
  probe_at_ = now + delay;
}

void lane::refresh(const rate_limits& limits, time_point now) {
  auto put = [now](std::optional<bucket>& to,
                   const std::optional<rate_limit>& from) {
    if (from)
      to = bucket{from->limit, from->remaining, now + from->reset};
  };
  put(requests_, limits.requests);
  put(input_tokens_, limits.input_tokens);
  put(output_tokens_, limits.output_tokens);
}

// What an answer without limits used is counted here.
void lane::spend(const running_call& call) {
  if (requests_)
    --requests_->remaining;
  if (input_tokens_)
    input_tokens_->remaining -= static_cast<int64_t>(call.tokens);
}

// -- rules --------------------------------------------------------------------

bool lane::half_open(time_point now) const {
  return probe_at_ && *probe_at_ <= now;
}

// What closes the lane for everybody.
lane::wait lane::closed_by(time_point now) const {
  if (paused_)
    return {now, lane_state::paused, *paused_};
  wait result{now, lane_state::open, {}};
  if (probe_at_ && *probe_at_ > now)
    result = {*probe_at_, lane_state::broken, broken_why_};
  auto park = [&](time_point until, std::string_view why) {
    if (until <= result.until)
      return;
    result.until = until;
    if (result.as == lane_state::broken)
      return;
    result.as = lane_state::parked;
    result.why = why;
  };
  park(parked_until_, parked_why_);
  if (requests_ && requests_->remaining <= 0)
    park(requests_->full_at, requests_spent);
  if (input_tokens_ && input_tokens_->remaining <= 0)
    park(input_tokens_->full_at, tokens_spent);
  if (output_tokens_ && output_tokens_->remaining <= 0)
    park(output_tokens_->full_at, tokens_spent);
  if (result.as == lane_state::open && half_open(now))
    result = {now, lane_state::probing, broken_why_};
  return result;
}

// What closes it for a call of so many tokens.
lane::wait lane::closed_for(uint64_t tokens, time_point now) const {
  auto result = closed_by(now);
  if (!input_tokens_ || result.as == lane_state::paused)
    return result;
  // A call that is larger than the bucket can only wait for a full one.
  auto needed = std::min(static_cast<int64_t>(tokens), input_tokens_->limit);
  if (input_tokens_->remaining < needed
      && input_tokens_->full_at > result.until) {
    result.until = input_tokens_->full_at;
    if (result.as != lane_state::broken) {
      result.as = lane_state::parked;
      result.why = tokens_spent;
    }
  }
  return result;
}

// Whether one more call may join those under way.
bool lane::has_room(uint64_t tokens, time_point now) const {
  if (in_flight_.size() >= options_.concurrency)
    return false;
  auto is_probe = [](const auto& x) { return x.second.is_probe; };
  if (half_open(now)
      && std::any_of(in_flight_.begin(), in_flight_.end(), is_probe))
    return false;
  // The provider has not told yet what those under way leave.
  auto calls = static_cast<int64_t>(in_flight_.size());
  if (calls == 0)
    return true;
  if (requests_ && requests_->full_at > now && requests_->remaining <= calls)
    return false;
  if (input_tokens_ && input_tokens_->full_at > now) {
    auto needed = static_cast<int64_t>(tokens);
    for (const auto& [ticket, call] : in_flight_)
      needed += static_cast<int64_t>(call.tokens);
    return needed <= input_tokens_->remaining;
  }
  return true;
}

permit_answer lane::refuse(const wait& x, time_point now) const {
  permit_answer result;
  result.kind = x.as == lane_state::parked ? run_outcome::throttled
                                           : run_outcome::provider_down;
  result.reason = options_.name + " takes no calls: " + sentence(x);
  if (x.as != lane_state::paused)
    result.delay = in_ms(x.until - now);
  return result;
}

std::string lane::sentence(const wait& x) const {
  if (x.why.empty())
    return to_string(x.as);
  return std::string{x.why};
}

// -- views --------------------------------------------------------------------

lane_state lane::state(time_point now) const {
  return closed_by(now).as;
}

std::optional<lane::time_point> lane::opens_at(time_point now) const {
  auto closed = closed_by(now);
  if (closed.as != lane_state::parked && closed.as != lane_state::broken)
    return std::nullopt;
  return closed.until;
}

std::optional<lane::time_point> lane::next_change(time_point now) const {
  if (paused_)
    return std::nullopt;
  auto result = opens_at(now);
  auto note = [&](time_point x) {
    if (x > now && (!result || x < *result))
      result = x;
  };
  // A large call may wait for a bucket that is not empty.
  if (!waiting_.empty())
    for (const auto& x : {requests_, input_tokens_})
      if (x)
        note(x->full_at);
  return result;
}

lane_report lane::report(time_point now) const {
  lane_report result;
  auto closed = closed_by(now);
  result.name = options_.name;
  result.state = closed.as;
  if (closed.as != lane_state::open)
    result.reason = sentence(closed);
  if (auto at = opens_at(now))
    result.opens_in = in_ms(*at - now);
  result.in_flight = static_cast<uint32_t>(in_flight_.size());
  result.concurrency = options_.concurrency;
  result.waiting = static_cast<uint32_t>(waiting_.size());
  result.calls = calls_;
  result.outages = outages_;
  auto show = [now](const std::optional<bucket>& x) {
    std::optional<rate_limit> shown;
    if (x && x->full_at > now)
      shown = rate_limit{x->limit, x->remaining, in_ms(x->full_at - now)};
    return shown;
  };
  result.limits = {show(requests_), show(input_tokens_), show(output_tokens_)};
  return result;
}

} // namespace reeve
