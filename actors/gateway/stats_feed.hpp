// actors/gateway/stats_feed.hpp -- what all watchers of the counts are shown.
#pragma once

#include "actors/gateway/json.hpp"
#include "actors/gateway/shared_question.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace reeve {

/// The newest event of a kind; it has a number of its own while it differs.
struct shared_event {
  std::string text;
  int64_t number = 0;

  void set(std::string x) {
    if (x == text)
      return;
    text = std::move(x);
    ++number;
  }
};

/// For one thread, as all connections of a gateway run on one.
struct stats_feed {
  struct part {
    shared_question question;
    shared_event newest;
  };

  part stats;
  part types;
  part providers;
  /// The newest counts, and when they were last sent with the number of changes
  /// of jobs by then.
  ordered_json counts;
  shared_question::time_point stamped_at{};
};

} // namespace reeve
