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

} // namespace

void supervisor_state::look_for_work() {
  if (!recovered_ || draining_)
    return;
  if (claim_) {
    look_again_ = true;
    return;
  }
  auto free = free_slots();
  if (free == 0 || unsettled_.size() >= options_.max_unsettled)
    return;
  auto types = claimable_types(free);
  if (types.empty())
    return;
  claim_ =
    claim_write{options_.owner, std::move(types), static_cast<uint32_t>(free),
                options_.lease, ++claim_token_};
  look_again_ = false;
  send_claim(false);
}

// What can run now. A job whose provider takes no calls would only hold a slot
// and come back.
std::vector<claimable_type> supervisor_state::claimable_types(
  size_t free) const {
  std::vector<claimable_type> result;
  for (const auto& [type, lanes] : options_.types) {
    auto limit = free;
    if (size_t most = options_.type(type).concurrency; most > 0)
      limit = std::min(limit, most - std::min(most, running_of(type)));
    for (const auto& name : lanes) {
      const auto* lane = find_gate(name);
      if (lane == nullptr || lane->last.state == lane_state::open)
        continue;
      auto may_probe =
        lane->last.state == lane_state::probing && probes_under_way(*lane) == 0;
      limit = std::min(limit, size_t{may_probe ? 1u : 0u});
    }
    if (limit > 0)
      result.push_back({type, static_cast<uint32_t>(limit)});
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
  auto is_probe = [&](const slot& x) {
    if (!x.run || x.run->started < lane.probing_since
        || x.run->started + probe_patience <= now)
      return false;
    auto uses = options_.types.find(x.run->claimed.type);
    return uses != options_.types.end()
      && std::find(uses->second.begin(), uses->second.end(), lane.lane)
      != uses->second.end();
  };
  return static_cast<size_t>(
    std::count_if(slots_.begin(), slots_.end(), is_probe));
}

void supervisor_state::send_claim(bool repeated) {
  auto again = [this](const caf::error&) {
    // Nothing is known of a claim whose answer is missing: the token finds it.
    self_->run_delayed(claim_retry, [this] { send_claim(true); });
  };
  if (!db_)
    return again({});
  self_->request(db_, options_.write_timeout, *claim_, repeated)
    .then([this](claimed& x) { on_claimed(x); }, again);
}

void supervisor_state::on_claimed(claimed& x) {
  claim_.reset();
  metrics_.claimed(x.jobs.size());
  if (x.next_due_in && scheduler_)
    self_->send(scheduler_, due_atom_v, int64_t{x.next_due_in->count()});
  auto where = slots_.begin();
  for (auto& job : x.jobs) {
    auto is_free = [](const slot& s) { return s.handle && !s.run; };
    where = std::find_if(where, slots_.end(), is_free);
    // A slot may have died, or the drain begun, since the claim was sent.
    if (draining_ || where == slots_.end())
      give_back(job);
    else
      assign(*where, job);
  }
  count_running();
  if (draining_)
    finish_drain_when_idle();
  // More of what this claim could not take is no reason to ask again.
  else if (look_again_ || (x.more && !x.jobs.empty()))
    look_for_work();
}

void supervisor_state::assign(slot& where, job& what) {
  auto control = std::make_shared<run_control>();
  auto timeout =
    std::chrono::duration_cast<milliseconds>(options_.type(what.type).timeout);
  log::info("job.started",
            {{"job", what.id},
             {"type", what.type},
             {"run", what.run},
             {"attempt", what.attempts},
             {"slot", where.name}});
  self_->send(where.handle, run_atom_v, assignment{what, control, timeout});
  where.run = active_run{std::move(what), std::move(control),
                         self_->clock().now(), stop_reason::none};
  // Nothing else tells that it has called nobody by then. Set after `started`,
  // so that its patience is over when the timer fires.
  if (is_probe(where.run->claimed))
    self_->run_delayed(probe_patience, [this] { look_for_work(); });
  if (where.run->claimed.cancel_requested)
    stop_run(where, stop_reason::cancelled);
}

void supervisor_state::give_back(const job& what) {
  outcome result;
  result.kind = run_outcome::interrupted;
  result.message = "The node had no slot left for it";
  ++drained_.returned;
  settle({what, nullptr, self_->clock().now(), stop_reason::none},
         std::move(result));
}

size_t supervisor_state::free_slots() const {
  auto is_free = [](const slot& x) { return x.handle && !x.run; };
  return static_cast<size_t>(
    std::count_if(slots_.begin(), slots_.end(), is_free));
}

size_t supervisor_state::running_of(const std::string& type) const {
  auto is_one = [&](const slot& x) {
    return x.run && x.run->claimed.type == type;
  };
  return static_cast<size_t>(
    std::count_if(slots_.begin(), slots_.end(), is_one));
}

} // namespace reeve
