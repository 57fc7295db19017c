// bench/inner/decision.cpp -- what follows from a run's end.
#include "actors/decision.hpp"

#include "bench/inner/job_example.hpp"

#include <benchmark/benchmark.h>

namespace {

using namespace reeve;

void decide_retry(benchmark::State& state) {
  const auto claimed = bench::example_job();
  const retry_options options;
  for (auto _ : state) {
    auto made =
      decide(claimed, run_outcome::failed, std::nullopt, options, 0.5);
    benchmark::DoNotOptimize(made);
  }
}
BENCHMARK(decide_retry);

void backoff_of_try(benchmark::State& state) {
  const retry_options options;
  for (auto _ : state)
    benchmark::DoNotOptimize(
      backoff(static_cast<uint64_t>(state.range(0)), options, 0.5));
}
BENCHMARK(backoff_of_try)->Arg(1)->Arg(20);

} // namespace
