// actors/gateway/context.hpp -- what all connections of a gateway share.
#pragma once

#include "actors/gateway/alarm.hpp"
#include "actors/gateway/event_texts.hpp"
#include "actors/gateway/http_metrics.hpp"
#include "actors/gateway/relay.hpp"
#include "actors/gateway/shared_question.hpp"
#include "actors/gateway/stats_feed.hpp"
#include "actors/gateway/stats_history.hpp"
#include "config/options.hpp"

#include <caf/timespan.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace reeve {

/// The newest picture of the actors, as an event has it. For one thread, as all
/// connections of a gateway run on one.
struct actor_feed {
  /// Waiting for an actor that hangs costs nobody anything.
  shared_question question{1};
  std::string text;
  int64_t number = 0;
};

struct gateway_context {
  http_options http;
  /// `off` or `api-key`.
  std::string auth_mode = "off";
  std::string node_name;
  /// The job types this node knows, with the defaults of their jobs.
  std::map<std::string, type_options> types;
  /// What books cost.
  price_options prices;
  /// The zone of a day when a request names none; an IANA name.
  std::string time_zone = "UTC";
  /// Other processes change jobs too, and nothing announces their changes:
  /// watchers look at the store from time to time.
  bool shared_store = false;
  caf::timespan watch_poll = std::chrono::seconds{1};
  caf::timespan keep_alive = std::chrono::seconds{15};
  /// Of all connections.
  std::shared_ptr<http_metrics> metrics;
  /// Timers of all connections; without it they are CAF's.
  alarm_actor alarm;
  /// Takes the new jobs of all connections.
  relay_actor relay;
  /// Each watcher that looks keeps a copy; its use count is their number.
  std::shared_ptr<const void> lookers = std::make_shared<int>(0);
  /// Shared by all watchers.
  std::shared_ptr<actor_feed> actors = std::make_shared<actor_feed>();
  std::shared_ptr<stats_feed> stats = std::make_shared<stats_feed>();
  std::shared_ptr<event_texts> texts = std::make_shared<event_texts>();
  /// Samples of the counts, for charts; it outlives a restarted gateway.
  std::shared_ptr<stats_history> history = std::make_shared<stats_history>();
  /// The port of the first socket: a restarted gateway takes it again.
  std::shared_ptr<std::atomic<uint16_t>> bound_port =
    std::make_shared<std::atomic<uint16_t>>(uint16_t{0});
};

} // namespace reeve
