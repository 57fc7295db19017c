// actors/log_histogram.cpp -- bounds of buckets, and quantiles from their
// counts.
#include "actors/log_histogram.hpp"

#include <caf/span.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace reeve {

namespace {

constexpr int steps_per_octave = 8;

std::vector<double> bounds(double smallest, int octaves) {
  std::vector<double> result;
  for (int octave = 0; octave < octaves; ++octave)
    for (int step = 0; step < steps_per_octave; ++step)
      result.push_back(std::ldexp(smallest, octave)
                       * (1.0 + static_cast<double>(step) / steps_per_octave));
  result.push_back(std::ldexp(smallest, octaves));
  return result;
}

struct bucket {
  double upper_bound;
  uint64_t count;
};

// The upper bound of the bucket, as HdrHistogram has it: small whole numbers
// are exact, and nothing looks quicker than it was. Above the last bound there
// is nothing to tell.
double quantile(const std::vector<bucket>& buckets, uint64_t total, double q) {
  auto rank = std::max(1.0, std::ceil(q * static_cast<double>(total)));
  uint64_t up_to = 0;
  double last = 0;
  for (const auto& x : buckets) {
    up_to += x.count;
    if (!std::isinf(x.upper_bound))
      last = x.upper_bound;
    if (static_cast<double>(up_to) >= rank)
      break;
  }
  return last;
}

} // namespace

log_histogram::log_histogram(double smallest, int octaves)
  : buckets_({}, nullptr, bounds(smallest, octaves)) {
  // nop
}

distribution log_histogram::read() const {
  // A copy: the counts go on growing.
  std::vector<bucket> copy;
  distribution result;
  for (const auto& x : buckets_.buckets()) {
    copy.push_back({x.upper_bound, static_cast<uint64_t>(x.count.value())});
    result.count += copy.back().count;
  }
  result.sum = buckets_.sum();
  result.last = last_.load(std::memory_order_relaxed);
  if (result.count > 0) {
    result.p50 = quantile(copy, result.count, .50);
    result.p95 = quantile(copy, result.count, .95);
    result.p99 = quantile(copy, result.count, .99);
  }
  return result;
}

} // namespace reeve
