// actors/gateway/stats_history.cpp -- keeps an hour.
#include "actors/gateway/stats_history.hpp"

#include <utility>

namespace reeve {

void stats_history::add(timestamp at, store_stats what) {
  samples_.push_back({at, std::move(what)});
  if (samples_.size() > most)
    samples_.pop_front();
}

} // namespace reeve
