// tests/support/mock_reader.hpp -- the reads of an actor that stands in for the
// node, as the test says; what it does not say is empty.
#pragma once

#include "actors/interfaces.hpp"

#include <functional>
#include <memory>
#include <tuple>
#include <utility>

namespace reeve::test {

struct mock_reads {
  std::function<caf::result<scrap>(const std::string&)> scrap_of;
  std::function<caf::result<step_list>()> steps;
  std::function<caf::result<content>(const content_query&)> content_of;
  std::function<caf::result<summary_view>(const summary_query&)> summary;
  std::function<caf::result<card_list>(const cards_query&)> cards;
  std::function<caf::result<card_hits>(const card_search&)> similar;
  std::function<caf::result<queue_facts>(const facts_query&)> facts;
  std::function<caf::result<type_states>()> pauses;
};

using mock_reads_ptr = std::shared_ptr<mock_reads>;

template <class T, class F, class... Ts>
caf::result<T> answer_or_default(const F& f, const Ts&... xs) {
  if (f)
    return f(xs...);
  return T{};
}

/// Handlers for everything in `reader_actor`.
inline auto reader_handlers(mock_reads_ptr reads) {
  return std::make_tuple(
    [](find_atom, const std::string& id) {
      job result;
      result.id = id;
      return result;
    },
    [](find_atom, const job_filter&) { return job_list{}; },
    [](attempts_atom, const std::string&) { return attempt_list{}; },
    [reads](scrap_atom, const std::string& id) {
      return answer_or_default<scrap>(reads->scrap_of, id);
    },
    [](card_atom, const std::string&) { return knowledge_card{}; },
    [](cards_atom, const std::string&) { return card_list{}; },
    [](stats_atom) { return store_stats{}; },
    [](key_atom, const std::string&) { return api_key{}; },
    [reads](const steps_query&) {
      return answer_or_default<step_list>(reads->steps);
    },
    [](const usage_query&) { return usage_rows{}; },
    [](const errors_query&) { return error_groups{}; },
    [](const preview_query&) { return failure_preview{}; },
    [reads](const facts_query& x) {
      return answer_or_default<queue_facts>(reads->facts, x);
    },
    [reads](const pauses_query&) {
      return answer_or_default<type_states>(reads->pauses);
    },
    [reads](const summary_query& x) {
      return answer_or_default<summary_view>(reads->summary, x);
    },
    [reads](const cards_query& x) {
      return answer_or_default<card_list>(reads->cards, x);
    },
    [reads](const content_query& x) {
      return answer_or_default<content>(reads->content_of, x);
    },
    [](const list_cards_query&) { return card_list{}; },
    [](const list_contents_query&) { return content_list{}; },
    [](const image_query&) { return page_image{}; },
    [](const account_query&) { return account{}; }, [](ready_atom) {});
}

/// A behavior of those, and of `handlers`.
template <class Behavior, class... Ts>
Behavior reader_behavior(mock_reads_ptr reads, Ts... handlers) {
  auto make = [&](auto... xs) {
    return Behavior{std::move(xs)..., std::move(handlers)...};
  };
  return std::apply(make, reader_handlers(std::move(reads)));
}

} // namespace reeve::test
