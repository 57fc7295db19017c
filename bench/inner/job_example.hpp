// bench/inner/job_example.hpp -- the job that the inner benchmarks use: as
// large as the one that `bench/run` sends.
#pragma once

#include "persistence/job.hpp"

namespace reeve::bench {

inline constexpr const char* example_body =
  R"({"type":"BENCH","target_id":"7c9e6679-7425-40de-944b-e07fc1f90ae7",)"
  R"("payload":{"id":12345,"target":"7c9e6679-7425-40de-944b-e07fc1f90ae7"}})";

inline job example_job() {
  job result;
  result.id = "0192d5c8-8f50-7c3a-9f4e-3b1d2f6a7b8c";
  result.type = "BENCH";
  result.target_id = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
  result.payload = nlohmann::json{
    {"id", 12345}, {"target", "7c9e6679-7425-40de-944b-e07fc1f90ae7"}};
  result.max_attempts = 3;
  result.version = 1;
  return result;
}

} // namespace reeve::bench
