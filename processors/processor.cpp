// processors/processor.cpp -- how outcomes are made.
#include "processors/processor.hpp"

#include <utility>

namespace reeve {

namespace {

outcome make(run_outcome kind, std::string message,
             std::optional<std::chrono::milliseconds> delay = {}) {
  outcome result;
  result.kind = kind;
  result.message = std::move(message);
  result.delay = delay;
  return result;
}

} // namespace

outcome outcome::completed(nlohmann::json result) {
  outcome x;
  x.result = std::move(result);
  return x;
}

outcome outcome::failed(std::string message) {
  return make(run_outcome::failed, std::move(message));
}

outcome outcome::failed_permanently(std::string message) {
  return make(run_outcome::failed_permanently, std::move(message));
}

outcome outcome::throttled(std::string message,
                           std::optional<std::chrono::milliseconds> delay) {
  return make(run_outcome::throttled, std::move(message), delay);
}

outcome outcome::provider_down(std::string message,
                               std::optional<std::chrono::milliseconds> delay) {
  return make(run_outcome::provider_down, std::move(message), delay);
}

outcome outcome::snoozed(std::chrono::milliseconds delay) {
  return make(run_outcome::snoozed, {}, delay);
}

outcome outcome::cancelled() {
  return make(run_outcome::cancelled, {});
}

} // namespace reeve
