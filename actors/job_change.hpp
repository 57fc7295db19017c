// actors/job_change.hpp -- a committed change on its way to who watches.
#pragma once

#include "persistence/writes.hpp"

#include <cstdint>
#include <utility>
#include <variant>

namespace reeve {

/// A job as a commit left it, or the end of a run that made it so: then the job
/// is put together when somebody first asks for it.
class job_change {
public:
  job_change(job_ptr now) // NOLINT: a job is the change that made it so
    : what_(std::move(now)) {
    // nop
  }

  job_change(completed end) // NOLINT: see above
    : what_(std::move(end)) {
    // nop
  }

  /// As the job was before or after it: what never changes can be read of it.
  const job& subject() const;

  job_status status() const;
  int64_t version() const;

  /// What it keeps in memory, roughly.
  size_t bytes() const;

  /// As it left the job.
  const job_ptr& now();

private:
  std::variant<job_ptr, completed> what_;
};

} // namespace reeve
