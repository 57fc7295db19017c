// tests/integration/persistence/unknown_run.hpp -- ends that must be refused.
#pragma once

#include "persistence/writes.hpp"

#include <memory>
#include <utility>

namespace reeve {

/// The same end for the next run of its job, which never was.
inline settle_write next_run_of(settle_write x) {
  auto run = *x.claimed;
  ++run.run;
  x.claimed = std::make_shared<const job>(std::move(run));
  return x;
}

} // namespace reeve
