// processors/job_json.hpp -- a job as the services and programs that do it see
// it.
#pragma once

#include "persistence/job.hpp"

#include <string>

namespace reeve {

/// `{"id", "type", "target_id", "user_id", "payload", "attempt", "run"}`, as
/// text.
std::string job_json(const job& job);

} // namespace reeve
