// persistence/job_store.cpp -- the spelling of refusals.
#include "persistence/job_store.hpp"

namespace reeve {

std::string_view to_string(refusal_code x) {
  switch (x) {
    case refusal_code::invalid_argument:
      return "invalid_argument";
    case refusal_code::not_found:
      return "not_found";
    case refusal_code::conflict:
      return "conflict";
    case refusal_code::lease_lost:
      return "lease_lost";
    case refusal_code::key_reused:
      return "key_reused";
    case refusal_code::insufficient_funds:
      return "insufficient_funds";
    case refusal_code::blocked:
      return "blocked";
  }
  return "?";
}

} // namespace reeve
