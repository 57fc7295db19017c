// actors/provider_metrics.hpp -- calls of one lane, and what they cost.
#pragma once

#include "processors/processor.hpp"

#include <caf/fwd.hpp>
#include <caf/telemetry/counter.hpp>
#include <caf/telemetry/histogram.hpp>
#include <caf/timespan.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace reeve {

/// `provider/model` parted; what has no model has an empty one.
std::pair<std::string, std::string> parts_of_lane(std::string_view name);

class provider_metrics {
public:
  provider_metrics(caf::actor_system& sys, std::string_view lane);

  /// A call ended; `how` is empty when nobody knows how it went.
  void called(const std::optional<call_report>& how, caf::timespan took);

private:
  /// By `lane_effect`; the last one of calls that nobody knows about.
  std::array<caf::telemetry::int_counter*, 5> calls_;
  caf::telemetry::dbl_histogram* seconds_;
  caf::telemetry::int_counter* input_tokens_;
  caf::telemetry::int_counter* output_tokens_;
  caf::telemetry::int_counter* images_;
};

} // namespace reeve
