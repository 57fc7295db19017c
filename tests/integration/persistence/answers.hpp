// tests/integration/persistence/answers.hpp -- what a store has answered.
#pragma once

#include "persistence/writes.hpp"

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace reeve {

/// The answer, if it is of this kind. The end of a run that succeeded is a
/// change, too.
template <class Answer>
std::optional<Answer> answer_as(write_answer x) {
  if constexpr (std::is_same_v<Answer, changed>)
    if (const auto* end = std::get_if<completed>(&x))
      return changed{end->now()};
  if (auto* result = std::get_if<Answer>(&x))
    return std::move(*result);
  return std::nullopt;
}

} // namespace reeve
