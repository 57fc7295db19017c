// actors/pace.cpp -- slow start, and back to one at the first slow run.
#include "actors/pace.hpp"

#include <algorithm>

namespace reeve {

namespace {

/// How much of the way to a faster run the memory of a slow one goes.
constexpr double fading = 1.0 / 16;

} // namespace

void pace::add(caf::timespan took) {
  auto ns = static_cast<double>(took.count());
  slowest_ns_ =
    ns >= slowest_ns_ ? ns : slowest_ns_ + (ns - slowest_ns_) * fading;
  if (took >= budget) {
    window_ = 1;
    seen_ = 0;
    return;
  }
  // As many as were fetched ahead have to turn out short.
  if (++seen_ >= window_) {
    seen_ = 0;
    window_ = std::min(window_ * 2, most);
  }
  auto fitting =
    static_cast<double>(budget.count()) / std::max(slowest_ns_, 1.0);
  if (fitting < window_)
    window_ = std::max(1u, static_cast<uint32_t>(fitting));
}

} // namespace reeve
