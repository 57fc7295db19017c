// actors/node_metrics.hpp -- what /metrics shows: the counters of `metrics`,
// and what is asked for at each scrape.
#pragma once

#include "actors/messages.hpp"

#include <caf/fwd.hpp>

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace reeve {

/// What the node's actors answered at a scrape; what did not come in time is
/// left out of the text: a value that may be wrong by now would look like one
/// that is not.
struct scraped_figures {
  std::optional<tree_report> tree;
  std::optional<lane_reports> lanes;
  /// Of all nodes on the database.
  std::optional<store_stats> stats;
  /// Job types with a label of their own.
  std::set<std::string, std::less<>> known_types;
};

/// All metrics in Prometheus' text format 0.0.4.
std::string prometheus_text(caf::actor_system& sys, const scraped_figures& x);

} // namespace reeve
