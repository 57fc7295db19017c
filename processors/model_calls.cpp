// processors/model_calls.cpp -- what processors that pay for answers share.
#include "processors/model_calls.hpp"

#include <algorithm>

namespace reeve {

std::vector<std::string> lane_names(const std::vector<lane_key>& lanes) {
  std::vector<std::string> result;
  for (const auto& lane : lanes) {
    auto name = lane.name();
    if (!name.empty()
        && std::find(result.begin(), result.end(), name) == result.end())
      result.push_back(std::move(name));
  }
  return result;
}

uint64_t estimated_tokens(size_t bytes) {
  // English has about four bytes a token, Korean about three a syllable and
  // one or two tokens for it.
  constexpr uint64_t bytes_per_token = 3;
  return bytes / bytes_per_token + 1;
}

bool may_use(const std::optional<std::string>& user,
             const std::optional<std::string>& owner) {
  return !user || !owner || *user == *owner;
}

} // namespace reeve
