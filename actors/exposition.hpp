// actors/exposition.hpp -- Prometheus' text format 0.0.4.
#pragma once

#include <caf/fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reeve {

/// Appends metrics to a text. Each metric is begun once, and its samples follow
/// at once. Samples have no timestamps: with one, Prometheus would take a
/// series that has gone for one that is still there.
class exposition {
public:
  /// Names and values.
  using labels = std::vector<std::pair<std::string_view, std::string>>;

  /// `name` ends in `_total` for counters, and only for them.
  exposition& counter(std::string_view name, std::string_view help);
  exposition& gauge(std::string_view name, std::string_view help);

  exposition& sample(const labels& which, double value);
  exposition& sample(double value) {
    return sample({}, value);
  }

  /// All metrics of a registry, but for CAF's own.
  void add(const caf::telemetry::metric_registry& registry);

  std::string take() {
    return std::move(text_);
  }

private:
  class collector;

  void begin(std::string_view name, std::string_view type,
             std::string_view help);
  void label(std::string_view name, std::string_view value);
  void end_sample(double value);
  void end_sample(int64_t value);

  std::string text_;
  /// Of the metric that was begun.
  std::string name_;
  /// The sample under way has a label.
  bool labelled_ = false;
};

} // namespace reeve
