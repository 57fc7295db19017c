// actors/query_actor.cpp -- reads, from committed state only.
#include "actors/query_actor.hpp"

#include "persistence/store_rules.hpp"

#include <utility>

namespace reeve {

namespace {

constexpr uint32_t most_cards = 100;

std::optional<summary_view> find_summary(job_store& store,
                                         const summary_query& x) {
  return is_date(x.id_or_date) ? store.find_summary_of(x.user_id, x.id_or_date)
                               : store.find_summary(x.id_or_date);
}

// Those of a job that exists.
std::optional<step_list> find_steps(job_store& store, const std::string& id) {
  auto result = store.steps_of(id);
  if (result.empty() && !store.find_job(id))
    return std::nullopt;
  return result;
}

std::optional<attempt_list> find_attempts(job_store& store,
                                          const std::string& id) {
  if (!store.find_job(id))
    return std::nullopt;
  return store.attempts_of(id);
}

} // namespace

query_actor_state::query_actor_state(query_actor::pointer self,
                                     store_opener connect)
  : self_(self), store_(std::move(connect)) {
  // nop
}

query_actor::behavior_type query_actor_state::make_behavior() {
  return {
    // -- jobs -----------------------------------------------------------------
    [this](find_atom, const std::string& id) -> caf::result<job> {
      return find([&](job_store& store) { return store.find_job(id); });
    },
    [this](find_atom, const job_filter& filter) -> caf::result<job_list> {
      return read([&](job_store& store) { return store.list_jobs(filter); });
    },
    [this](attempts_atom, const std::string& id) -> caf::result<attempt_list> {
      return find([&](job_store& store) { return find_attempts(store, id); });
    },
    [this](stats_atom) -> caf::result<store_stats> {
      return read([](job_store& store) { return store.stats(); });
    },
    [this](const steps_query& x) -> caf::result<step_list> {
      return find(
        [&](job_store& store) { return find_steps(store, x.job_id); });
    },
    [this](const usage_query& x) -> caf::result<usage_rows> {
      return read([&](job_store& store) {
        return store.usage_between(x.from, x.to, x.by);
      });
    },
    [this](const errors_query& x) -> caf::result<error_groups> {
      return read([&](job_store& store) {
        return store.error_groups(x.filter, x.limit);
      });
    },
    [this](const preview_query& x) -> caf::result<failure_preview> {
      return read(
        [&](job_store& store) { return store.preview_failures(x.filter); });
    },
    [this](const facts_query& x) -> caf::result<queue_facts> {
      return find(
        [&](job_store& store) { return store.facts_about(x.job_id); });
    },
    [this](const pauses_query&) -> caf::result<type_states> {
      return read([](job_store& store) { return store.type_states(); });
    },
    // -- SAN ------------------------------------------------------------------
    [this](scrap_atom, const std::string& id) -> caf::result<scrap> {
      return find([&](job_store& store) { return store.find_scrap(id); });
    },
    [this](card_atom, const std::string& id) -> caf::result<knowledge_card> {
      return find([&](job_store& store) { return store.find_card(id); });
    },
    [this](cards_atom, const std::string& scrap_id) -> caf::result<card_list> {
      return read([&](job_store& store) {
        return store.cards_of_scrap(scrap_id, most_cards);
      });
    },
    [this](const summary_query& x) -> caf::result<summary_view> {
      return find([&](job_store& store) { return find_summary(store, x); });
    },
    [this](const cards_query& x) -> caf::result<card_list> {
      return read([&](job_store& store) {
        return store.cards_between(x.user_id, x.from, x.to, x.limit);
      });
    },
    [this](const list_cards_query& x) -> caf::result<card_list> {
      return read([&](job_store& store) {
        return store.list_cards(x.before_id, x.limit);
      });
    },
    // -- books ----------------------------------------------------------------
    [this](const content_query& x) -> caf::result<content> {
      return find([&](job_store& store) { return store.find_content(x.id); });
    },
    [this](const list_contents_query& x) -> caf::result<content_list> {
      return read([&](job_store& store) {
        return store.list_contents(x.before_id, x.limit);
      });
    },
    [this](const image_query& x) -> caf::result<page_image> {
      return find([&](job_store& store) {
        return store.find_image(x.content_id, x.number);
      });
    },
    [this](const account_query& x) -> caf::result<account> {
      return read([&](job_store& store) {
        return store.find_account(x.user_id, x.limit);
      });
    },
    // -- the rest -------------------------------------------------------------
    [this](key_atom, const std::string& digest) -> caf::result<api_key> {
      return find([&](job_store& store) { return store.find_api_key(digest); });
    },
    [this](ready_atom) -> caf::result<void> {
      auto answered = read([](job_store& store) {
        store.ping();
        return true;
      });
      if (!answered)
        return std::move(answered.error());
      return caf::unit;
    },
    [this](status_atom) { return status(); },
  };
}

actor_report query_actor_state::status() const {
  actor_report result;
  store_.describe(result);
  result.mailbox = self_->mailbox().size();
  return result;
}

} // namespace reeve
