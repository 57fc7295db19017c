// bench/client/measures.hpp -- what the client can measure. Each returns one
// JSON object; times are milliseconds.
#pragma once

#include "bench/client/options.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace reeve::bench {

/// Requests one after another on each of `--connections`, `--requests` in all:
/// POST /api/jobs, or GET `--get`. Rate, latency, and how even the connections
/// were served.
nlohmann::json post(const arguments& x);

/// `--jobs` in POST /api/jobs/batch of `--batch`, one at a time.
nlohmann::json bulk(const arguments& x);

/// `--jobs` one by one, each 10 ms after the last began; the node notes the
/// waits in `--samples`.
nlohmann::json idle(const arguments& x);

/// `--rate` a second for `--seconds`; the node notes the waits.
nlohmann::json steady(const arguments& x);

/// `--watchers` event streams, one for each of as many jobs, which are then
/// cancelled at `--rate` a second: from that request to the event.
nlohmann::json watch(const arguments& x);

// -- shared -------------------------------------------------------------------

/// n, p50_ms, p95_ms, p99_ms, max_ms.
nlohmann::json percentiles(std::vector<int64_t> nanoseconds);

/// The number of the node's file of samples that are there, as percentiles.
nlohmann::json percentiles_of(const std::string& samples_file);

/// The JSON of one job; `t_ns` goes into its payload unless it is 0.
std::string job_body(const std::string& type, uint64_t number, int64_t t_ns);

/// User and system time of this process so far, in seconds.
double own_cpu_s();

} // namespace reeve::bench
