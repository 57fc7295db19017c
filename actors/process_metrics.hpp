// actors/process_metrics.hpp -- what Prometheus' clients say of their process.
#pragma once

#include "actors/exposition.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

namespace reeve {

/// The standard `process_*` metrics. What /proc does not tell is left out.
void add_process_metrics(exposition& out);

/// Counts the entries of a folder at most once in `spacing`: ten thousand open
/// files take several milliseconds, and a scrape must not. Not thread-safe.
class entry_counter {
public:
  using time_point = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::seconds spacing{60};

  explicit entry_counter(std::filesystem::path folder)
    : folder_(std::move(folder)) {
    // nop
  }

  /// None: the folder cannot be read.
  std::optional<int64_t> count(time_point now);

private:
  std::filesystem::path folder_;
  std::optional<time_point> counted_at_;
  std::optional<int64_t> last_;
};

} // namespace reeve
