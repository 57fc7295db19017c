// actors/janitor.hpp -- retention: jobs that ended long ago go.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/metered_actor.hpp"
#include "actors/metrics.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <string>
#include <vector>

namespace reeve {

/// Who carries out deletions; the supervisor in production.
using pruner_actor = caf::typed_actor<caf::result<pruned>(prune_write)>;

/// How long ended jobs of a type are kept.
struct retention_rule {
  std::string type;
  std::chrono::milliseconds older_than{0};
};

struct janitor_options {
  /// Types that are not named are kept for ever.
  std::vector<retention_rule> rules;
  /// From the end of a sweep to the next, and from the start to the first.
  caf::timespan interval = std::chrono::minutes{1};
  caf::timespan store_timeout = std::chrono::seconds{30};
  /// Jobs looked at in one transaction, and the pause behind it: a long history
  /// that goes at once must not take the database from those who work.
  uint32_t page = 500;
  caf::timespan pause = std::chrono::milliseconds{50};
};

class janitor_state {
public:
  static constexpr const char* name = "reeve.janitor";

  janitor_state(janitor_actor::pointer self, pruner_actor pruner,
                janitor_options options);

  janitor_actor::behavior_type make_behavior();

private:
  void next_page();
  void on_pruned(const pruned& x);
  void next_rule();
  void arm();

  janitor_actor::pointer self_;
  pruner_actor pruner_;
  janitor_options options_;
  metrics metrics_;
  /// Of the sweep under way.
  bool sweeping_ = false;
  size_t rule_ = 0;
  int64_t after_seq_ = 0;
  uint32_t deleted_ = 0;
  uint64_t sweeps_ = 0;
  std::string last_error_;
};

using janitor_impl = metered_actor<janitor_actor::stateful_impl<janitor_state>>;

} // namespace reeve
