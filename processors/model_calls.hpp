// processors/model_calls.hpp -- what processors that pay for answers share.
#pragma once

#include "processors/processor.hpp"

#include <string>
#include <utility>
#include <vector>

namespace reeve {

/// The names of lanes, without those of models that call nobody and without
/// repeated ones.
std::vector<std::string> lane_names(const std::vector<lane_key>& lanes);

/// About how many tokens a text takes, for the buckets of a lane.
uint64_t estimated_tokens(size_t bytes);

/// True when what belongs to `owner` may be used by a job of `user`. A job
/// without a user is an operator's, and what has no owner is everybody's.
bool may_use(const std::optional<std::string>& user,
             const std::optional<std::string>& owner);

/// The result of a step that `answer` was paid for.
template <class T>
step_result paid_step(const lane_key& lane, const provider_answer<T>& answer,
                      nlohmann::json result) {
  step_result x;
  x.result = std::move(result);
  x.provider = lane.provider;
  x.model = answer.model.empty() ? lane.model : answer.model;
  x.used = answer.used;
  return x;
}

} // namespace reeve
