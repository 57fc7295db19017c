// processors/job_json.cpp -- a job as the services and programs that do it see
// it.
#include "processors/job_json.hpp"

#include "net/json.hpp"

namespace reeve {

std::string job_json(const job& job) {
  nlohmann::json result{{"id", job.id},
                        {"type", job.type},
                        {"target_id", job.target_id},
                        {"user_id", nullptr},
                        {"payload", job.payload},
                        {"attempt", job.attempts},
                        {"run", job.run}};
  if (job.user_id)
    result["user_id"] = *job.user_id;
  return net::dump_json(result);
}

} // namespace reeve
