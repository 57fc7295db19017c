// actors/provider_metrics.cpp -- all series of a lane are there from its start.
#include "actors/provider_metrics.hpp"

#include "actors/histograms.hpp"

#include <caf/actor_system.hpp>

namespace reeve {

namespace {

// In the order of `lane_effect`.
constexpr std::array<caf::string_view, 5> outcomes{
  "answered", "throttled", "outage", "refused", "unknown"};

void add(caf::telemetry::int_counter* counter, uint64_t amount) {
  if (amount > 0)
    counter->inc(static_cast<int64_t>(amount));
}

} // namespace

std::pair<std::string, std::string> parts_of_lane(std::string_view name) {
  const auto slash = name.find('/');
  if (slash == std::string_view::npos)
    return {std::string{name}, {}};
  return {std::string{name.substr(0, slash)},
          std::string{name.substr(slash + 1)}};
}

provider_metrics::provider_metrics(caf::actor_system& sys,
                                   std::string_view lane) {
  auto& registry = sys.metrics();
  const auto [provider, model] = parts_of_lane(lane);
  const caf::telemetry::label_view by{"provider", provider};
  const caf::telemetry::label_view of{"model", model};
  for (size_t i = 0; i < outcomes.size(); ++i)
    calls_[i] = registry.counter_instance(
      "reeve.provider", "calls", {by, of, {"outcome", outcomes[i]}},
      "Calls ended: answered (with an error of its own, perhaps), throttled, "
      "an "
      "outage, refused (a bad key or spent money), or unknown.",
      "1", true);
  seconds_ = histogram(registry, "reeve.provider", "call_duration", {by, of},
                       caf::make_span(long_buckets), "Time that a call took.");
  auto tokens = [&](caf::string_view direction) {
    return registry.counter_instance(
      "reeve.provider", "tokens", {by, of, {"direction", direction}},
      "Tokens that the provider counted.", "1", true);
  };
  input_tokens_ = tokens("input");
  output_tokens_ = tokens("output");
  images_ = registry.counter_instance("reeve.provider", "images", {by, of},
                                      "Pictures drawn.", "1", true);
}

void provider_metrics::called(const std::optional<call_report>& how,
                              caf::timespan took) {
  seconds_->observe(in_seconds(took));
  if (!how) {
    calls_.back()->inc();
    return;
  }
  calls_[static_cast<size_t>(how->effect)]->inc();
  add(input_tokens_, how->used.input_tokens);
  add(output_tokens_, how->used.output_tokens);
  add(images_, how->used.images);
}

} // namespace reeve
