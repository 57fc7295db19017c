// actors/supervisor_claims.cpp -- what this node takes on, and who does it.
#include "actors/supervisor.hpp"

#include "config/log.hpp"

#include <algorithm>
#include <utility>

namespace reeve {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// Until a claim that failed for the store's reasons is tried again.
constexpr auto claim_retry = 500ms;
/// How long a run may take to call the lane it is to probe. Which of its type's
/// lanes a run still has to call is not known: a book whose text is done never
/// calls the text lane again, and would keep all other types from probing it
/// until the book ends. Who calls takes its permit much sooner than this; one
/// run too many does no harm, since a gate lets one call probe at a time.
constexpr auto probe_patience = 15s;
/// How long a type is taken for paused without asking again. Whoever resumes it
/// wakes the nodes, but not everybody does who may, and not every node hears.
constexpr auto paused_patience = 1s;

bool reached_a_limit(const std::vector<claimable_type>& types,
                     const std::vector<job>& jobs) {
  std::unordered_map<std::string_view, size_t> counts;
  for (const auto& x : jobs)
    ++counts[x.type];
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
    look_again_ = true;
    return;
  }
  auto free = free_slots();
  if (free == 0 || unsettled_.size() >= options_.max_unsettled)
    return;
  auto wanted = make_wish(free);
  if (wanted.types.empty())
    return;
  partial_claim_ = wanted.is_partial;
  claim_ = claim_write{options_.owner, std::move(wanted.types),
                       static_cast<uint32_t>(wanted.limit), options_.lease,
                       ++claim_token_};
  look_again_ = false;
  look_if_left_ = false;
  joining_.clear();
  send_claim(how);
}

// A slot came free, which makes no job due: what a claim that is under way does
// not tell of is not there.
void supervisor_state::look_if_any_is_left() {
  if (claim_)
    look_if_left_ = true;
  else if (!nothing_left_)
    look_for_work();
}

// Where jobs are left behind, short ones are fetched ahead. What is not short
// needs a slot for each run: such types share the free slots then, in turn.
supervisor_state::wish supervisor_state::make_wish(size_t free) {
  wish result;
  std::vector<claimable_type> whole;
  result.limit = free;
  for (const auto& [type, lanes] : options_.types) {
    auto window = backlog_ && lanes.empty() ? paces_[type].window() : 1;
    auto across = this->type(type).concurrency;
    auto room = room_for(type, free * window, result.is_partial);
    if (room == 0)
      continue;
    claimable_type one{type, static_cast<uint32_t>(room), across};
    if (window == 1) {
      whole.push_back(std::move(one));
      continue;
    }
    result.limit = std::max(result.limit, free * window);
    result.types.push_back(std::move(one));
  }
  if (result.types.empty()) {
    result.types = std::move(whole);
    return result;
  }
  auto left = free;
  for (size_t i = 0; i < whole.size(); ++i) {
    auto& one = whole[(turn_ + i) % whole.size()];
    auto limit = std::min(left, size_t{one.limit});
    result.is_partial = result.is_partial || limit < one.limit;
    left -= limit;
    one.limit = static_cast<uint32_t>(limit);
    if (limit > 0)
      result.types.push_back(std::move(one));
  }
  ++turn_;
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

void supervisor_state::send_claim(claim_way how) {
  auto again = [this](const caf::error&) {
    let_go_of_joining();
    open_up();
    // Nothing is known of a claim whose answer is missing: the token finds it.
    self_->run_delayed(claim_retry, [this] { send_claim(claim_way::again); });
  };
  if (!db_)
    return again({});
  auto send = [this, again](auto... xs) {
    self_->request(db_, options_.write_timeout, std::move(xs)...)
      .then([this](claimed& x) { on_claimed(x); }, again);
  };
  if (how == claim_way::with_next_write)
    send(caf::join_atom_v, *claim_);
  else
    send(*claim_, how == claim_way::again);
}

void supervisor_state::on_claimed(claimed& x) {
  // Of a type that gave all it was asked for more may be left; a claim that is
  // full says so itself.
  auto is_partial = partial_claim_
    || (x.jobs.size() < claim_->limit
        && reached_a_limit(claim_->types, x.jobs));
  note_paused(x.paused);
  claim_.reset();
  backlog_ = x.more && !x.jobs.empty();
  // It may have come in time for those that wait for the next one.
  for (const auto& job : x.jobs) {
    metrics_.run_started(job);
    joining_.erase(job.id);
  }
  // More of what this claim could not take is no reason to ask again.
  auto again = look_again_ || backlog_ || !joining_.empty();
  nothing_left_ = !again && !x.more && !is_partial;
  again = again || (look_if_left_ && !nothing_left_);
  if (x.next_due_in && scheduler_)
    self_->send(scheduler_, due_atom_v, int64_t{x.next_due_in->count()});
  hand_out(x.jobs);
  count_running();
  if (draining_)
    finish_drain_when_idle();
  else if (again)
    look_for_work();
  let_go_of_joining();
  open_up();
}

void supervisor_state::note_paused(const std::vector<std::string>& found) {
  for (const auto& one : claim_->types)
    paused_.erase(one.type);
  for (const auto& type : found)
    paused_[type] = self_->clock().now();
}

bool supervisor_state::is_paused(const std::string& type) const {
  auto i = paused_.find(type);
  return i != paused_.end()
    && self_->clock().now() < i->second + paused_patience;
}

// No claim has followed: they need not wait for it.
void supervisor_state::let_go_of_joining() {
  if (joining_.empty())
    return;
  joining_.clear();
  if (db_)
    self_->send(db_, flush_atom_v);
}

// Short runs are dealt out evenly, from the last slot on; a long one comes last
// in its slot, from the first on.
void supervisor_state::hand_out(std::vector<job>& jobs) {
  std::vector<slot*> free;
  for (auto& x : slots_)
    if (x.is_free() && !draining_)
      free.push_back(&x);
  auto comes_first = [this](const job& x) { return is_short(x.type); };
  auto longs = std::stable_partition(jobs.begin(), jobs.end(), comes_first);
  std::vector<std::vector<job>> shares(free.size());
  // A slot may have died, or the drain begun, since the claim was sent.
  std::vector<job> homeless;
  auto shorts = static_cast<size_t>(longs - jobs.begin());
  auto share = free.empty() ? 0 : (shorts + free.size() - 1) / free.size();
  for (size_t i = 0; i < shorts; ++i)
    if (share == 0)
      homeless.push_back(std::move(jobs[i]));
    else
      shares[free.size() - 1 - i / share].push_back(std::move(jobs[i]));
  size_t next = 0;
  for (auto i = longs; i != jobs.end(); ++i)
    if (next == shares.size())
      homeless.push_back(std::move(*i));
    else
      shares[next++].push_back(std::move(*i));
  for (size_t i = 0; i < free.size(); ++i)
    if (!shares[i].empty())
      assign(*free[i], std::move(shares[i]));
  if (!homeless.empty())
    give_back(homeless);
}

void supervisor_state::give_back(std::vector<job>& jobs) {
  auto bundle = bundle_of(jobs);
  tell_watchers(bundle);
  std::vector<run_end> ends;
  for (size_t i = 0; i < bundle->size(); ++i)
    ends.push_back(given_back({bundle, i, self_->clock().now()},
                              "the node had no slot left for it"));
  drained_.returned += static_cast<uint32_t>(ends.size());
  settle(std::move(ends));
}

void supervisor_state::assign(slot& where, std::vector<job>&& jobs) {
  auto now = self_->clock().now();
  where.bundle = bundle_of(jobs);
  tell_watchers(where.bundle);
  auto probes = false;
  for (size_t i = 0; i < where.bundle->size(); ++i) {
    const auto& what = where.bundle->runs()[i].job;
    active_run run{where.bundle, i, now};
    run.is_short = is_short(what.type);
    if (!run.is_short)
      log::info("job.started",
                {{"job", what.id},
                 {"type", what.type},
                 {"run", what.run},
                 {"attempt", what.attempts},
                 {"slot", where.name},
                 log::optional("trace_id", what.trace.id())});
    probes = probes || is_probe(what);
    where.runs.insert_or_assign(what.seq, std::move(run));
  }
  self_->send(where.handle, run_atom_v, where.bundle);
  // Nothing else tells that it has called nobody by then. Set after `started`,
  // so that its patience is over when the timer fires.
  if (probes)
    self_->run_delayed(probe_patience, [this] { look_for_work(); });
  for (auto& [seq, run] : where.runs)
    if (run.claimed().cancel_requested)
      stop_run(where, run, stop_reason::cancelled);
}

run_bundle_ptr supervisor_state::bundle_of(std::vector<job>& jobs) const {
  std::vector<assignment> runs;
  runs.reserve(jobs.size());
  for (auto& what : jobs) {
    auto timeout =
      std::chrono::duration_cast<milliseconds>(type(what.type).timeout);
    runs.push_back({std::move(what), std::make_shared<run_control>(), timeout});
  }
  return std::make_shared<run_bundle>(std::move(runs));
}

// They share the jobs with the bundle.
void supervisor_state::tell_watchers(const run_bundle_ptr& started) {
  if (!hub_)
    return;
  committed_changes changes;
  changes.jobs.reserve(started->size());
  for (const auto& x : started->runs())
    changes.jobs.emplace_back(started, &x.job);
  self_->send(hub_, std::move(changes));
}

bool supervisor_state::is_short(const std::string& type) const {
  auto i = paces_.find(type);
  if (i == paces_.end() || i->second.window() == 1)
    return false;
  // What calls a provider may take long whenever it comes to that.
  auto uses = options_.types.find(type);
  return uses != options_.types.end() && uses->second.empty();
}

size_t supervisor_state::free_slots() const {
  return static_cast<size_t>(std::ranges::count_if(slots_, &slot::is_free));
}

size_t supervisor_state::running_of(const std::string& type) const {
  auto is_one = [&](const auto& entry) {
    return entry.second.claimed().type == type;
  };
  size_t result = 0;
  for (const auto& x : slots_)
    result += static_cast<size_t>(std::ranges::count_if(x.runs, is_one));
  return result;
}

} // namespace reeve
