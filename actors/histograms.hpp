// actors/histograms.hpp -- histograms of times, in seconds.
#pragma once

#include <caf/telemetry/metric_registry.hpp>

#include <chrono>
#include <initializer_list>

namespace reeve {

/// Bounds for what takes milliseconds.
inline constexpr double short_buckets[]{
  .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};

/// Bounds for what takes seconds to minutes, or a millisecond.
inline constexpr double long_buckets[]{.001, .005, .025, .1, .5,  1,   2.5,
                                       5,    10,   30,   60, 120, 300, 1800};

template <class Rep, class Period>
double in_seconds(std::chrono::duration<Rep, Period> x) {
  return std::chrono::duration<double>(x).count();
}

/// `PREFIX_NAME_seconds` with labels. (The registry's own function for it
/// cannot be compiled.)
inline caf::telemetry::dbl_histogram* histogram(
  caf::telemetry::metric_registry& registry, caf::string_view prefix,
  caf::string_view name,
  std::initializer_list<caf::telemetry::label_view> labels,
  caf::span<const double> buckets, caf::string_view help) {
  std::vector<caf::string_view> names;
  for (const auto& x : labels)
    names.push_back(x.name());
  auto* family = registry.histogram_family<double>(
    prefix, name, caf::make_span(names), buckets, help, "seconds");
  return family->get_or_add(labels);
}

} // namespace reeve
