// actors/explanation.hpp -- the first thing that keeps a job from running.
// Pure.
#pragma once

#include "actors/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace reeve {

/// A job that this node runs.
struct running_job {
  std::string id;
  std::string type;
};

/// What a node knows of why one job does not run on it.
struct node_view {
  /// The node's name.
  std::string node;
  bool is_draining = false;
  /// This node has a processor for the job's type.
  bool has_processor = true;
  /// Jobs of the type that run at once on this node; 0: as many as fit.
  uint32_t concurrency = 0;
  std::vector<running_job> running;
  size_t free_slots = 0;
  /// Those that the job's type needs.
  std::vector<lane_report> lanes;
};

/// | code | what it means |
/// |---|---|
/// | `finished` | nothing is to be done |
/// | `cancel_requested` | it runs and was told to stop |
/// | `running` | on this node or another one |
/// | `due_later` | until `until` |
/// | `type_paused` | on all nodes, until somebody resumes it |
/// | `no_processor` | this node cannot run the type |
/// | `node_draining` | this node takes no new work |
/// | `lane_closed` | a provider takes no calls, perhaps until `until` |
/// | `limit_reached` | `blocking_job` holds the type's only place, or one |
/// | `node_busy` | `blocking_job` and others hold all workers |
/// | `queued` | `ahead` jobs come before it |
/// | `claimable` | it starts as soon as this node looks |
explanation explain(const queue_facts& facts, const node_view& node);

} // namespace reeve
