// actors/decision.hpp -- what follows from how a run ended. Pure.
#pragma once

#include "config/options.hpp"
#include "persistence/job.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace reeve {

struct decision {
  verdict what = verdict::fail;
  /// Until the job is due again; for retries.
  std::chrono::milliseconds delay{0};
  /// For operators: which rule led here.
  std::string why;
};

/// The delay before try `n` + 1 (`n` from 1): `backoff` · `factor`^(n−1),
/// at most `max_backoff`, then up to `jitter` less or more. `random` is in
/// [0, 1). Holds for every n.
std::chrono::milliseconds backoff(uint64_t n, const retry_options& options,
                                  double random);

/// Decides by whose fault it was: only the job's own fault spends an attempt.
/// `requested` is what the provider or the processor asked for, as a floor.
decision decide(const job& claimed, run_outcome how,
                std::optional<std::chrono::milliseconds> requested,
                const retry_options& options, double random);

} // namespace reeve
