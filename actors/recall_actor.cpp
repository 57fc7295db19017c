// actors/recall_actor.cpp -- a text becomes an embedding becomes cards.
#include "actors/recall_actor.hpp"

#include "config/log.hpp"

#include <exception>
#include <stop_token>
#include <utility>

namespace reeve {

namespace {

// A model that throws is a model that failed.
provider_answer<std::vector<float>> embed(analysis_model& model,
                                          const std::string& text) {
  try {
    // Nobody stops a search: the provider's own timeout bounds it.
    return model.embed(text, std::stop_token{});
  } catch (const std::exception& err) {
    provider_answer<std::vector<float>> result;
    provider_failure failure;
    failure.message = err.what();
    result.result = std::move(failure);
    return result;
  }
}

} // namespace

recall_actor_state::recall_actor_state(recall_actor::pointer self,
                                       std::unique_ptr<job_store> store,
                                       std::shared_ptr<analysis_model> model)
  : self_(self), store_(std::move(store)), model_(std::move(model)) {
  // nop
}

recall_actor::behavior_type recall_actor_state::make_behavior() {
  return {
    [this](const recall_query& x) { return recall(x); },
    [this](const card_search& x) { return search(x); },
    [this](status_atom) { return status(); },
  };
}

caf::result<card_hits> recall_actor_state::recall(const recall_query& x) {
  auto answer = embed(*model_, x.text);
  if (const auto* failure = std::get_if<provider_failure>(&answer.result)) {
    auto provider = model_->lane().provider;
    log::warn("recall.no-embedding",
              {{"provider", provider}, {"error", failure->message}});
    return caf::make_error(ec::store_unavailable,
                           "the provider of embeddings (" + provider
                             + ") failed: " + failure->message);
  }
  card_search what;
  what.embedding = std::get<std::vector<float>>(std::move(answer.result));
  what.user_id = x.user_id;
  what.limit = x.limit;
  return search(what);
}

caf::result<card_hits> recall_actor_state::search(const card_search& x) {
  return store_.read(self_->clock().now(),
                     [&](job_store& store) { return store.similar_cards(x); });
}

actor_report recall_actor_state::status() const {
  actor_report result;
  store_.describe(result);
  result.mailbox = self_->mailbox().size();
  return result;
}

} // namespace reeve
