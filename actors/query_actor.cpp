// actors/query_actor.cpp -- reads, from committed state only.
#include "actors/query_actor.hpp"

#include "config/log.hpp"

#include <utility>

namespace reeve {

namespace {

using namespace std::chrono_literals;

/// A dead server is asked this often, whoever waits.
constexpr auto retry_interval = 250ms;

constexpr uint32_t most_cards = 100;

} // namespace

query_actor_state::query_actor_state(query_actor::pointer self,
                                     std::unique_ptr<job_store> store)
  : self_(self), store_(std::move(store)) {
  // nop
}

query_actor::behavior_type query_actor_state::make_behavior() {
  return {
    [this](find_atom, const std::string& id) -> caf::result<job> {
      return find([&](job_store& store) { return store.find_job(id); });
    },
    [this](find_atom, const job_filter& filter) -> caf::result<job_list> {
      return read([&](job_store& store) { return store.list_jobs(filter); });
    },
    [this](attempts_atom, const std::string& id) -> caf::result<attempt_list> {
      return find([&](job_store& store) {
        auto exists = store.find_job(id).has_value();
        return exists ? std::optional{store.attempts_of(id)} : std::nullopt;
      });
    },
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
    [this](stats_atom) -> caf::result<store_stats> {
      return read([](job_store& store) { return store.stats(); });
    },
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
    [this](status_atom) {
      actor_report result;
      result.state = away_ ? "away" : "idle";
      result.mailbox = self_->mailbox().size();
      result.messages = reads_;
      result.last_error = last_error_;
      return result;
    },
  };
}

template <class F>
auto query_actor_state::read(F f)
  -> caf::expected<decltype(f(std::declval<job_store&>()))> {
  ++reads_;
  // A connection that died while it was idle shows only now: one more try.
  auto tries = away_ ? 1 : 2;
  while (tries-- > 0 && reconnect_if_away()) {
    try {
      return f(*store_);
    } catch (const store_unavailable& err) {
      away_ = true;
      last_error_ = err.what();
      next_try_ = {};
    }
  }
  return caf::make_error(ec::store_unavailable, last_error_);
}

template <class F>
auto query_actor_state::find(F f) -> caf::expected<
  typename decltype(f(std::declval<job_store&>()))::value_type> {
  auto found = read(std::move(f));
  if (!found)
    return std::move(found.error());
  if (!*found)
    return caf::make_error(ec::not_found);
  return std::move(**found);
}

bool query_actor_state::reconnect_if_away() {
  if (!away_)
    return true;
  auto now = self_->clock().now();
  if (now < next_try_)
    return false;
  try {
    store_->reconnect();
    store_->ping();
  } catch (const store_unavailable& err) {
    if (last_error_ != err.what())
      log::warn("query.connection-lost", {{"error", err.what()}});
    last_error_ = err.what();
    next_try_ = now + retry_interval;
    return false;
  }
  away_ = false;
  return true;
}

} // namespace reeve
