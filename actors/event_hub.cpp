// actors/event_hub.cpp -- a numbered feed, a replay buffer, and who listens.
#include "actors/event_hub.hpp"

#include <algorithm>
#include <utility>

namespace reeve {

namespace {

/// From here on an end is remembered as its job, which shares nothing but the
/// payload: as it ran, the job may keep all others of its bundle in memory.
constexpr size_t large_payload = 4 * 1024;

} // namespace

bool fits(const watch_filter& filter, const job& x) {
  return (!filter.job_id || *filter.job_id == x.id)
    && (!filter.type || *filter.type == x.type)
    && (!filter.user_id || filter.user_id == x.user_id);
}

event_hub_state::event_hub_state(event_hub_actor::pointer self,
                                 event_hub_options options)
  : self_(self), options_(options), metrics_(self->system()) {
  // Numbers of an earlier hub must not look like numbers of this one.
  auto now = std::chrono::system_clock::now().time_since_epoch();
  newest_ = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

event_hub_actor::behavior_type event_hub_state::make_behavior() {
  self_->set_down_handler(
    [this](const caf::down_msg& x) { forget(x.source.id()); });
  return {
    [this](status_atom) { return status(); },
    [this](committed_changes& x) { publish(x); },
    [this](watch_atom, watch_filter& filter, watcher_actor& who) {
      return watch(std::move(filter), std::move(who));
    },
  };
}

watch_started event_hub_state::watch(watch_filter filter, watcher_actor who) {
  watch_started result;
  result.newest = newest_;
  result.hub = self_->address();
  if (filter.last_seen) {
    auto oldest = replay_.empty() ? newest_ + 1 : replay_.front().number;
    // The feed counts events; a single job counts its versions.
    result.gap = !filter.job_id
      && (*filter.last_seen < oldest - 1 || *filter.last_seen > newest_);
    for (auto& [number, what, bytes] : replay_) {
      auto position = filter.job_id ? what.version() : number;
      if (!result.gap && position > *filter.last_seen
          && fits(filter, what.subject()))
        result.replay.push_back({number, what.now()});
    }
  }
  auto id = who.id();
  if (watchers_.contains(id))
    forget(id);
  else
    self_->monitor(who);
  if (filter.job_id)
    by_job_.emplace(*filter.job_id, id);
  else
    feeds_.insert(id);
  watchers_.emplace(id, watcher{std::move(who), std::move(filter)});
  metrics_.watchers(watchers_.size());
  return result;
}

void event_hub_state::publish(committed_changes& changes) {
  for (auto& x : changes.jobs) {
    ++newest_;
    ++published_;
    metrics_.changed();
    tell(x);
    remember(std::move(x));
  }
}

void event_hub_state::tell(job_change& change) {
  auto [first, last] = by_job_.equal_range(change.subject().id);
  for (auto i = first; i != last; ++i)
    tell(watchers_.at(i->second), change);
  for (auto id : feeds_)
    tell(watchers_.at(id), change);
}

void event_hub_state::tell(const watcher& one, job_change& change) {
  if (fits(one.filter, change.subject()))
    self_->send(one.who, job_event{newest_, change.now()});
}

void event_hub_state::remember(job_change&& change) {
  if (change.subject().payload.bytes() >= large_payload)
    change.now();
  const auto bytes = change.bytes();
  replay_.push_back({newest_, std::move(change), bytes});
  replay_bytes_ += bytes;
  while (replay_.size() > options_.max_events
         || replay_bytes_ > options_.max_bytes) {
    replay_bytes_ -= replay_.front().bytes;
    replay_.pop_front();
  }
}

void event_hub_state::forget(caf::actor_id who) {
  auto i = watchers_.find(who);
  if (i == watchers_.end())
    return;
  if (const auto& job_id = i->second.filter.job_id) {
    auto [first, last] = by_job_.equal_range(*job_id);
    auto is_it = [who](const auto& x) { return x.second == who; };
    by_job_.erase(std::find_if(first, last, is_it));
  }
  feeds_.erase(who);
  watchers_.erase(i);
  metrics_.watchers(watchers_.size());
}

actor_report event_hub_state::status() const {
  actor_report result;
  result.state = "idle";
  result.mailbox = self_->mailbox().size();
  result.counts = {{"events", published_}, {"watchers", watchers_.size()}};
  return result;
}

} // namespace reeve
