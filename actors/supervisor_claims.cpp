// actors/supervisor_claims.cpp -- what this node takes on.
#include "actors/supervisor.hpp"

#include "config/log.hpp"

#include <algorithm>
#include <utility>

namespace reeve {

namespace {

using namespace std::chrono_literals;

/// Until a claim that failed for the store's reasons is tried again.
constexpr auto claim_retry = 500ms;
/// How long only short types are asked for at most.
constexpr auto longest_ahead = 250ms;
/// How long a type is taken for paused without asking again. Whoever resumes it
/// wakes the nodes, but not everybody does who may, and not every node hears.
constexpr auto paused_patience = 1s;

/// For fewer jobs a commit more costs more than the claimer saves.
constexpr uint32_t fewest_for_claimer = 64;
/// How long it is left alone after a claim that failed there.
constexpr auto claimer_rest = 5s;

bool reached_a_limit(const std::vector<claimable_type>& types,
                     const std::vector<job>& jobs) {
  auto counts = count_by_type(jobs);
  return std::ranges::any_of(
    types, [&](const claimable_type& x) { return counts[x.type] >= x.limit; });
}

} // namespace

// Something happened that may have made jobs due, or will with the next write.
void supervisor_state::look_for_work(claim_way how) {
  nothing_left_ = false;
  if (!recovered_ || draining_)
    return;
  if (claim_) {
    claim_->look_again = true;
    return;
  }
  hand_out_ahead();
  claim(free_slots(), may_claim_ahead() ? soon_free_slots() : 0, how);
}

// For slots that are free, and for those that will be.
void supervisor_state::claim(size_t free, size_t soon_free, claim_way how) {
  if (free + soon_free == 0 || unsettled_.size() >= options_.max_unsettled)
    return;
  auto wanted = make_wish(free, soon_free);
  if (wanted.types.empty())
    return;
  claim_ = open_claim{{options_.owner, std::move(wanted.types),
                       static_cast<uint32_t>(wanted.limit), options_.lease,
                       ++claim_token_},
                      wanted.is_partial};
  if (free > 0 || !wanted.leaves_types_out)
    all_asked_ = self_->clock().now();
  send_claim(how);
}

// A slot came free, which makes no job due: what a claim that is under way does
// not tell of is not there.
void supervisor_state::look_if_any_is_left() {
  if (claim_)
    claim_->look_if_left = true;
  else if (!nothing_left_)
    look_for_work();
}

// Where jobs are left behind, short ones are fetched ahead, also for slots that
// will be free. What is not short needs a free slot for each run: such types
// share those, in turn.
supervisor_state::wish supervisor_state::make_wish(size_t free,
                                                   size_t soon_free) {
  wish result;
  std::vector<claimable_type> whole;
  result.limit = free;
  for (const auto& [type, lanes] : options_.types) {
    auto window = backlog_ && lanes.empty() ? paces_[type].window() : 1;
    auto across = this->type(type).concurrency;
    auto slots = window > 1 ? free + soon_free : free;
    if (slots == 0)
      result.is_partial = result.leaves_types_out = true;
    auto room = room_for(type, slots * window, result.is_partial);
    if (room == 0)
      continue;
    claimable_type one{type, static_cast<uint32_t>(room), across};
    if (window == 1) {
      whole.push_back(std::move(one));
      continue;
    }
    result.limit = std::max(result.limit, slots * window);
    result.types.push_back(std::move(one));
  }
  if (result.types.empty()) {
    result.types = std::move(whole);
    return result;
  }
  auto left = free;
  size_t turns = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    auto& one = whole[(turn_ + i) % whole.size()];
    auto limit = std::min(left, size_t{one.limit});
    result.is_partial = result.is_partial || limit < one.limit;
    left -= limit;
    one.limit = static_cast<uint32_t>(limit);
    if (limit == 0)
      continue;
    result.types.push_back(std::move(one));
    ++turns;
  }
  turn_ += turns;
  return result;
}

// How many more runs of a type this node may start, at most `most`. A job whose
// provider takes no calls would only hold a slot and come back.
size_t supervisor_state::room_for(const std::string& type, size_t most,
                                  bool& is_partial) const {
  auto result = most;
  if (size_t limit = this->type(type).concurrency; limit > 0) {
    result = std::min(result, limit - std::min(limit, running_of(type)));
    // Other nodes count, too, and nobody tells when theirs end.
    is_partial = true;
  }
  for (const auto& name : options_.types.at(type)) {
    const auto* lane = find_gate(name);
    if (lane == nullptr || lane->last.state == lane_state::open)
      continue;
    auto may_probe =
      lane->last.state == lane_state::probing && probes_under_way(*lane) == 0;
    result = std::min(result, size_t{may_probe ? 1u : 0u});
    is_partial = true;
  }
  return result;
}

// Whether a run of it would be one of those below.
bool supervisor_state::is_probe(const job& what) const {
  auto uses = options_.types.find(what.type);
  if (uses == options_.types.end())
    return false;
  return std::any_of(
    uses->second.begin(), uses->second.end(), [this](const auto& name) {
      const auto* lane = find_gate(name);
      return lane != nullptr && lane->last.state == lane_state::probing;
    });
}

// Runs that were started because the lane wants to know whether its provider is
// back.
size_t supervisor_state::probes_under_way(const gate_slot& lane) const {
  auto now = self_->clock().now();
  auto is_probe = [&](const auto& entry) {
    const active_run& run = entry.second;
    if (run.started < lane.probing_since || run.started + probe_patience <= now)
      return false;
    auto uses = options_.types.find(run.claimed().type);
    return uses != options_.types.end()
      && std::find(uses->second.begin(), uses->second.end(), lane.lane)
      != uses->second.end();
  };
  size_t result = 0;
  for (const auto& x : slots_)
    result += static_cast<size_t>(std::ranges::count_if(x.runs, is_probe));
  return result;
}

// A claim of many jobs takes the database twice as long as their ends, and what
// is committed meanwhile is no business of its: both go on at once.
bool supervisor_state::is_for_claimer(claim_way how) const {
  return claimer_ && how == claim_way::alone
    && claim_->what.limit >= fewest_for_claimer
    && !std::ranges::any_of(claim_->what.types, &claimable_type::across)
    && self_->clock().now() >= claimer_rests_until_;
}

void supervisor_state::send_claim(claim_way how) {
  // The connection's own limits end it, or the claimer's death: before that it
  // may still claim, and nobody else should look what it has done.
  claim_->is_beside = is_for_claimer(how);
  if (claim_->is_beside) {
    // A claimer that was given up may answer still.
    auto is_open = [this, token = claim_->what.token] {
      return claim_ && claim_->is_beside && claim_->what.token == token;
    };
    auto done = [this, is_open](const unread_claim_ptr& x) {
      if (is_open())
        on_taken(*x);
    };
    auto failed = [this, is_open](const caf::error& why) {
      if (is_open())
        give_claimer_up(to_string(why));
    };
    self_->request(claimer_, caf::infinite, claim_->what).then(done, failed);
    return;
  }
  if (!db_)
    return send_claim_again();
  auto failed = [this](const caf::error&) { send_claim_again(); };
  auto done = [this](claimed& x) {
    on_claimed(*std::exchange(claim_, std::nullopt), x);
  };
  if (how == claim_way::with_next_write)
    self_->request(db_, options_.write_timeout, caf::join_atom_v, claim_->what)
      .then(done, failed);
  else
    self_
      ->request(db_, options_.write_timeout, claim_->what,
                how == claim_way::again)
      .then(done, failed);
}

// What it may have taken db looks for.
void supervisor_state::give_claimer_up(const std::string& why) {
  claimer_rests_until_ = self_->clock().now() + claimer_rest;
  log::warn("claimer.claim-failed", {{"error", why}});
  send_claim(claim_way::again);
}

// Nothing is known of a claim whose answer is missing: the token finds it.
void supervisor_state::send_claim_again() {
  let_go(claim_->joining);
  open_up();
  self_->run_delayed(claim_retry, [this] { send_claim(claim_way::again); });
}

// Where every slot starts some of what a claim took and none is left, the next
// ones are on their way before these are read.
void supervisor_state::on_taken(unread_claim& x) {
  auto asked = *std::exchange(claim_, std::nullopt);
  backlog_ = x.size() >= asked.what.limit;
  if (asked.joining.empty() && may_claim_ahead()
      && fill_all_slots(x.count_by_type()))
    claim(0, free_slots());
  auto found = x.read();
  on_claimed(std::move(asked), found);
}

// A claim that came with it may be under way already.
void supervisor_state::on_claimed(open_claim asked, claimed& x) {
  // Of a type that gave all it was asked for more may be left; a claim that is
  // full says so itself.
  auto is_partial = asked.is_partial
    || (x.jobs.size() < asked.what.limit
        && reached_a_limit(asked.what.types, x.jobs));
  note_paused(asked, x.paused);
  backlog_ = x.more && !x.jobs.empty();
  // It may have come in time for those that wait for the next one.
  for (const auto& job : x.jobs) {
    metrics_.run_started(job);
    asked.joining.erase(job.id);
  }
  // More of what this claim could not take is no reason to ask again.
  auto again = asked.look_again || backlog_ || !asked.joining.empty();
  nothing_left_ = !again && !x.more && !is_partial;
  again = again || (asked.look_if_left && !nothing_left_);
  if (x.next_due_in && scheduler_)
    self_->send(scheduler_, due_atom_v, int64_t{x.next_due_in->count()});
  note_early_cancels(x.jobs);
  if (may_claim_ahead() && fill_all_slots(count_by_type(x.jobs)))
    claim(0, free_slots());
  hand_out(x.jobs);
  count_running();
  if (draining_)
    finish_drain_when_idle();
  else if (again && !claim_)
    look_for_work();
  if (!claim_ || claim_->is_beside)
    let_go(asked.joining);
  open_up();
}

// One claim's worth. Types that are not short are asked for with a free slot,
// now and then.
bool supervisor_state::may_claim_ahead() const {
  return backlog_ && !claim_ && !draining_ && ahead_.empty()
    && self_->clock().now() < all_asked_ + longest_ahead;
}

// Their commits came while the answer of the claim that took them was on its
// way.
void supervisor_state::note_early_cancels(std::vector<job>& jobs) {
  for (const auto& x : std::exchange(cancelled_early_, {})) {
    auto i = std::ranges::find(jobs, key_of(*x),
                               [](const job& y) { return key_of(y); });
    if (i != jobs.end())
      *i = *x;
  }
}

void supervisor_state::note_paused(const open_claim& asked,
                                   const std::vector<std::string>& found) {
  for (const auto& one : asked.what.types)
    paused_.erase(one.type);
  for (const auto& type : found)
    paused_[type] = self_->clock().now();
}

bool supervisor_state::is_paused(const std::string& type) const {
  auto i = paused_.find(type);
  return i != paused_.end()
    && self_->clock().now() < i->second + paused_patience;
}

// What waits in `db` for a claim to share its transaction waits no longer.
void supervisor_state::let_go(std::set<std::string>& joining) {
  if (joining.empty())
    return;
  joining.clear();
  if (db_)
    self_->send(db_, flush_atom_v);
}

} // namespace reeve
