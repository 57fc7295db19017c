// actors/gateway/event_texts.hpp -- the JSON of a changed job, written once for
// all who watch it.
#pragma once

#include "persistence/job.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <string>

namespace reeve {

/// Remembers the newest texts: watchers get a change one right after the other.
/// For one thread; all connections of a gateway run on one.
class event_texts {
public:
  using text_ptr = std::shared_ptr<const std::string>;

  /// What is kept at most. The newest text is kept whatever its size.
  static constexpr size_t max_texts = 64;
  static constexpr size_t max_bytes = 1024 * 1024;

  /// The job as the API shows it.
  text_ptr of(const job_ptr& what);

  /// How many texts had to be written so far.
  size_t written() const noexcept {
    return written_;
  }

private:
  struct entry {
    /// Not kept: it may be one of a bundle, which is large. No other job gets
    /// its address unnoticed.
    std::weak_ptr<const job> what;
    text_ptr text;
  };

  void drop_oldest();

  std::deque<entry> entries_;
  size_t bytes_ = 0;
  size_t written_ = 0;
};

} // namespace reeve
