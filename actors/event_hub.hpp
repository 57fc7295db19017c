// actors/event_hub.hpp -- fans committed job changes out to watchers.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/metered_actor.hpp"
#include "actors/metrics.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace reeve {

struct event_hub_options {
  /// The replay buffer: newest events, by number and by estimated bytes.
  size_t max_events = 4'096;
  size_t max_bytes = 8 * 1024 * 1024;
};

class event_hub_state {
public:
  static constexpr const char* name = "reeve.event-hub";

  event_hub_state(event_hub_actor::pointer self, event_hub_options options);

  event_hub_actor::behavior_type make_behavior();

private:
  struct watcher {
    watcher_actor who;
    watch_filter filter;
  };

  /// A change in the replay buffer.
  struct remembered {
    int64_t number;
    job_change what;
    size_t bytes;
  };

  watch_started watch(watch_filter filter, watcher_actor who);
  void publish(committed_changes& changes);
  void tell(job_change& change);
  void tell(const watcher& one, job_change& change);
  void remember(job_change&& change);
  void forget(caf::actor_id who);
  actor_report status() const;

  event_hub_actor::pointer self_;
  event_hub_options options_;
  metrics metrics_;
  std::deque<remembered> replay_;
  size_t replay_bytes_ = 0;
  int64_t newest_ = 0;
  /// At most one subscription a watcher: a new one replaces it.
  std::map<caf::actor_id, watcher> watchers_;
  std::multimap<std::string, caf::actor_id> by_job_;
  std::set<caf::actor_id> feeds_;
  uint64_t published_ = 0;
};

using event_hub_impl =
  metered_actor<event_hub_actor::stateful_impl<event_hub_state>>;

/// True when a change of this job belongs to what the filter asks for.
bool fits(const watch_filter& filter, const job& x);

} // namespace reeve
