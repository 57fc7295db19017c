// actors/recovery.hpp -- returns jobs whose node died.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/metered_actor.hpp"
#include "actors/metrics.hpp"

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <vector>

namespace reeve {

/// Who carries out rescues; the supervisor in production.
using rescuer_actor = caf::typed_actor<caf::result<rescued>(rescue_write)>;

struct recovery_options {
  lease_owner owner;
  caf::timespan interval = std::chrono::seconds{10};
  caf::timespan store_timeout = std::chrono::seconds{30};
  /// Jobs in one transaction, so that no sweep holds the store for long.
  uint32_t batch_size = 500;
};

class recovery_state {
public:
  static constexpr const char* name = "reeve.recovery";

  recovery_state(recovery_actor::pointer self, rescuer_actor rescuer,
                 recovery_options options);

  recovery_actor::behavior_type make_behavior();

private:
  void sweep();
  void finish(caf::expected<uint32_t> result);
  void arm();

  recovery_actor::pointer self_;
  rescuer_actor rescuer_;
  recovery_options options_;
  metrics metrics_;
  /// Who asked for the sweep under way.
  std::vector<caf::typed_response_promise<uint32_t>> askers_;
  bool sweeping_ = false;
  bool timed_ = false;
  uint32_t returned_ = 0;
  uint64_t sweeps_ = 0;
  std::string last_error_;
};

using recovery_impl =
  metered_actor<recovery_actor::stateful_impl<recovery_state>>;

} // namespace reeve
