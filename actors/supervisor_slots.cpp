// actors/supervisor_slots.cpp -- which slot runs what was claimed.
#include "actors/supervisor.hpp"

#include "config/log.hpp"

#include <algorithm>
#include <utility>

namespace reeve {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// How long a claimed run waits for a slot that was expected to be free soon.
constexpr auto ahead_patience = 200ms;
/// More than what sums of shares are off by.
constexpr double rounding = 1e-6;

} // namespace

// Short runs are dealt out evenly, from the last slot on; a long one comes last
// in its slot, from the first on.
void supervisor_state::hand_out(std::vector<job>& jobs) {
  std::vector<slot*> free;
  for (auto& x : slots_)
    if (x.is_free() && !draining_)
      free.push_back(&x);
  auto comes_first = [this](const job& x) { return is_short(x.type); };
  auto longs = std::stable_partition(jobs.begin(), jobs.end(), comes_first);
  auto shorts = static_cast<size_t>(longs - jobs.begin());
  double load = 0;
  for (size_t i = 0; i < shorts; ++i)
    load += share_of_slot(jobs[i].type);
  auto slots = std::max(free.size() + soon_free_slots(), size_t{1});
  auto most = std::min(load / static_cast<double>(slots), 1.0) - rounding;
  std::vector<std::vector<job>> shares(free.size());
  std::vector<job> rest;
  size_t nth = 0;
  double filled = 0;
  for (size_t i = 0; i < shorts; ++i) {
    filled += share_of_slot(jobs[i].type);
    auto& to = nth < free.size() ? shares[free.size() - 1 - nth] : rest;
    to.push_back(std::move(jobs[i]));
    if (filled < most)
      continue;
    ++nth;
    filled = 0;
  }
  for (size_t i = shorts; i < jobs.size(); ++i)
    (i - shorts < free.size() ? shares[i - shorts] : rest)
      .push_back(std::move(jobs[i]));
  for (size_t i = 0; i < free.size(); ++i)
    if (!shares[i].empty())
      assign(*free[i], std::move(shares[i]));
  if (draining_)
    give_back(rest);
  else
    keep_ahead(std::move(rest));
}

// The slot that they were claimed for may be at other runs, or may have died.
void supervisor_state::keep_ahead(std::vector<job> jobs) {
  if (jobs.empty())
    return;
  if (ahead_.empty()) {
    ahead_since_ = self_->clock().now();
    self_->run_delayed(ahead_patience, [this] { lose_patience_with_ahead(); });
  }
  std::ranges::move(jobs, std::back_inserter(ahead_));
}

// Once a slot is free. Their time goes on.
void supervisor_state::hand_out_ahead() {
  if (ahead_.empty() || (free_slots() == 0 && !draining_))
    return;
  auto since = ahead_since_;
  auto jobs = std::exchange(ahead_, {});
  hand_out(jobs);
  ahead_since_ = since;
}

void supervisor_state::lose_patience_with_ahead() {
  if (ahead_.empty() || self_->clock().now() < ahead_since_ + ahead_patience)
    return;
  auto jobs = std::exchange(ahead_, {});
  give_back(jobs);
}

void supervisor_state::give_back(std::vector<job>& jobs) {
  if (jobs.empty())
    return;
  auto bundle = bundle_of(jobs);
  tell_watchers(bundle);
  const auto* why = draining_ ? "the node is shutting down"
                              : "the node had no slot left for it";
  std::vector<run_end> ends;
  for (size_t i = 0; i < bundle->size(); ++i)
    ends.push_back(given_back({bundle, i, self_->clock().now()}, why));
  if (draining_)
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
    runs.push_back({std::move(what), std::stop_source{}, timeout});
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
    changes.jobs.emplace_back(job_ptr{started, &x.job});
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

// How much of what one slot may be given at a time.
double supervisor_state::share_of_slot(const std::string& type) const {
  return is_short(type) ? 1.0 / paces_.at(type).window() : 1.0;
}

// Whether all of them start now, all are short, and no slot goes without.
bool supervisor_state::fill_all_slots(
  const std::map<std::string, size_t>& jobs) const {
  auto free = free_slots();
  size_t count = 0;
  double load = 0;
  for (const auto& [type, of_it] : jobs) {
    if (!is_short(type))
      return false;
    count += of_it;
    load += static_cast<double>(of_it) * share_of_slot(type);
  }
  return free > 0 && count >= free && soon_free_slots() == 0
    && load <= static_cast<double>(free) + rounding;
}

size_t supervisor_state::free_slots() const {
  return static_cast<size_t>(std::ranges::count_if(slots_, &slot::is_free));
}

// Slots that are at short runs only, which should end before a claim is
// answered.
size_t supervisor_state::soon_free_slots() const {
  auto now = self_->clock().now();
  auto is_short = [now](const auto& entry) {
    const active_run& run = entry.second;
    return run.is_short && run.stopped == stop_reason::none
      && now < run.started + ahead_patience;
  };
  auto is_soon_free = [&](const slot& x) {
    return x.handle && !x.runs.empty() && std::ranges::all_of(x.runs, is_short);
  };
  return static_cast<size_t>(std::ranges::count_if(slots_, is_soon_free));
}

size_t supervisor_state::running_of(const std::string& type) const {
  auto is_one = [&](const auto& entry) {
    return entry.second.claimed().type == type;
  };
  auto result = std::ranges::count(ahead_, type, &job::type);
  for (const auto& x : slots_)
    result += std::ranges::count_if(x.runs, is_one);
  return static_cast<size_t>(result);
}

} // namespace reeve
