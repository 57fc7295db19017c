// actors/log_histogram.hpp -- what the values of a figure are like, in bounded
// memory.
#pragma once

#include <caf/telemetry/histogram.hpp>

#include <atomic>
#include <cstdint>

namespace reeve {

/// What a histogram has recorded. Quantiles are 0 when that is nothing.
struct distribution {
  uint64_t count = 0;
  double sum = 0;
  double p50 = 0;
  double p95 = 0;
  double p99 = 0;
  /// The newest value; 0 where values come from CAF.
  double last = 0;
};

/// Counts values in log-linear buckets as HdrHistogram does: eight of equal
/// width to each power of two, so that a quantile is off by an eighth at most.
/// Recording allocates nothing and takes no lock; any thread may read.
class log_histogram {
public:
  /// Values up to `smallest` are one, and so are those above
  /// `smallest * 2^octaves`.
  log_histogram(double smallest, int octaves);

  void record(double x) {
    buckets_.observe(x);
    last_.store(x, std::memory_order_relaxed);
  }

  distribution read() const;

  /// For CAF, which records what only it sees.
  caf::telemetry::dbl_histogram& buckets() noexcept {
    return buckets_;
  }

private:
  caf::telemetry::dbl_histogram buckets_;
  std::atomic<double> last_ = 0;
};

} // namespace reeve
