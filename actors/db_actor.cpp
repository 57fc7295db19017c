// actors/db_actor.cpp -- whatever queued up while one transaction committed
// becomes the next one.
#include "actors/db_actor.hpp"

#include "config/log.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace reeve {

namespace {

template <class Answer>
void answer(caf::typed_response_promise<Answer>& promise, write_answer&& x) {
  if (auto* value = std::get_if<Answer>(&x))
    promise.deliver(std::move(*value));
  else if (auto* no = std::get_if<refusal>(&x))
    promise.deliver(make_error(*no));
  else
    promise.deliver(caf::make_error(caf::sec::runtime_error,
                                    "the store gave an answer of another "
                                    "kind"));
}

// What a transaction made visible; only changes, not what was found.
void collect(const write_answer& answer, std::vector<job>& out) {
  if (const auto* x = std::get_if<enqueued>(&answer)) {
    if (x->kind == enqueue_kind::created)
      out.push_back(x->job);
  } else if (const auto* x = std::get_if<enqueued_batch>(&answer)) {
    for (const auto& member : x->jobs)
      if (member.kind == enqueue_kind::created)
        out.push_back(member.job);
  } else if (const auto* x = std::get_if<changed>(&answer)) {
    out.push_back(x->job);
  } else if (const auto* x = std::get_if<claimed>(&answer)) {
    out.insert(out.end(), x->jobs.begin(), x->jobs.end());
  } else if (const auto* x = std::get_if<rescued>(&answer)) {
    out.insert(out.end(), x->jobs.begin(), x->jobs.end());
  } else if (const auto* x = std::get_if<bulk_retried>(&answer)) {
    out.insert(out.end(), x->jobs.begin(), x->jobs.end());
  }
}

} // namespace

db_actor_state::db_actor_state(db_actor::pointer self,
                               std::unique_ptr<job_store> store,
                               change_sink_actor sink, db_actor_options options)
  : self_(self),
    store_(std::move(store)),
    sink_(std::move(sink)),
    options_(options),
    metrics_(self->system()),
    backoff_(options.first_backoff) {
  // nop
}

db_actor::behavior_type db_actor_state::make_behavior() {
  return {
    // -- writer_actor ---------------------------------------------------------
    [this](enqueue_write& x) { return append<enqueued>(std::move(x)); },
    [this](enqueue_batch_write& x) {
      return append<enqueued_batch>(std::move(x));
    },
    [this](cancel_write& x) { return append<changed>(std::move(x)); },
    [this](retry_write& x) { return append<changed>(std::move(x)); },
    [this](bulk_retry_write& x) { return append<bulk_retried>(std::move(x)); },
    [this](pause_write& x) { return append<done>(std::move(x)); },
    [this](summary_write& x) { return append<stored_summary>(std::move(x)); },
    [this](delete_scrap_write& x) { return append<done>(std::move(x)); },
    [this](progress_write& x) { return append<changed>(std::move(x)); },
    // -- inspectable_actor ----------------------------------------------------
    [this](status_atom) { return status(); },
    // -- db_actor -------------------------------------------------------------
    [this](claim_write& x, bool repeated) {
      return append<claimed>(std::move(x), repeated);
    },
    [this](settle_write& x, bool repeated) {
      return append<changed>(std::move(x), repeated);
    },
    [this](step_write& x, bool repeated) {
      return append<changed>(std::move(x), repeated);
    },
    [this](heartbeat_write& x) { return append<renewed>(std::move(x)); },
    [this](rescue_write& x) { return append<rescued>(std::move(x)); },
    [this](flush_atom) { flush(); },
    [this](reconnect_atom) { reconnect(); },
  };
}

template <class Answer>
caf::result<Answer> db_actor_state::append(write what, bool repeated) {
  auto promise = self_->make_response_promise<Answer>();
  // A finished run's result was paid for: it waits for the database. Anything
  // else can be asked again.
  if (away_ && !std::holds_alternative<settle_write>(what)) {
    promise.deliver(caf::make_error(ec::store_unavailable, last_error_));
    return promise;
  }
  if (auto* settle = std::get_if<settle_write>(&what); settle && away_)
    forget_waiting(*settle);
  waiting_.push_back(
    {{std::move(what), repeated},
     [promise](write_answer&& x) mutable { answer(promise, std::move(x)); }});
  schedule_flush();
  return promise;
}

void db_actor_state::forget_waiting(const settle_write& x) {
  auto is_older_copy = [&x](const pending& waiting) {
    const auto* other = std::get_if<settle_write>(&waiting.entry.what);
    return other != nullptr && other->claimed.seq == x.claimed.seq
      && other->claimed.run == x.claimed.run;
  };
  std::erase_if(waiting_, is_older_copy);
}

void db_actor_state::schedule_flush() {
  if (flush_scheduled_ || away_ || waiting_.empty())
    return;
  // The message goes behind everything that is in the mailbox by now, so the
  // batch grows with the load and an idle node commits at once.
  flush_scheduled_ = true;
  self_->send(self_, flush_atom_v);
}

void db_actor_state::flush() {
  flush_scheduled_ = false;
  if (away_ || waiting_.empty())
    return;
  auto count = std::min(waiting_.size(), options_.max_batch);
  auto split = waiting_.begin() + static_cast<ptrdiff_t>(count);
  std::vector<pending> batch{std::make_move_iterator(waiting_.begin()),
                             std::make_move_iterator(split)};
  waiting_.erase(waiting_.begin(), split);
  commit(batch);
  schedule_flush();
}

void db_actor_state::commit(std::vector<pending>& batch) {
  std::vector<write_entry> entries;
  entries.reserve(batch.size());
  for (const auto& x : batch)
    entries.push_back(x.entry);
  std::vector<write_answer> answers;
  auto started = self_->clock().now();
  try {
    answers = store_->apply(entries);
  } catch (const store_unavailable& err) {
    lose_connection(std::move(batch), err.what());
    return;
  }
  proven_ = true;
  backoff_ = options_.first_backoff;
  ++commits_;
  writes_ += batch.size();
  metrics_.committed(batch.size(), self_->clock().now() - started);
  publish(answers);
  for (size_t i = 0; i < batch.size(); ++i)
    batch[i].deliver(std::move(answers[i]));
}

void db_actor_state::publish(const std::vector<write_answer>& answers) {
  committed_changes changes;
  for (const auto& x : answers)
    collect(x, changes.jobs);
  if (changes.jobs.empty())
    return;
  // Answers come in the order of requests, which is not the order in which the
  // store applies kinds of writes; versions are.
  auto older = [](const job& a, const job& b) { return a.version < b.version; };
  std::stable_sort(changes.jobs.begin(), changes.jobs.end(), older);
  self_->send(sink_, std::move(changes));
}

void db_actor_state::lose_connection(std::vector<pending> batch,
                                     const char* what) {
  away_ = true;
  last_error_ = what;
  // Whether the commit happened is not known: the store looks first.
  for (auto& x : batch)
    x.entry.repeated = true;
  waiting_.insert(waiting_.begin(), std::make_move_iterator(batch.begin()),
                  std::make_move_iterator(batch.end()));
  metrics_.database_away(true);
  log::warn("db.connection-lost",
            {{"error", last_error_}, {"waiting", waiting_.size()}});
  // The first try is at once: a cut connection to a healthy server costs a
  // round trip, not a refusal. When a new connection cured nothing (a full
  // disk, say), trying again at once would spin.
  if (std::exchange(proven_, false))
    reconnect();
  else
    reconnect_later();
}

void db_actor_state::reconnect() {
  try {
    store_->reconnect();
    store_->ping();
  } catch (const store_unavailable& err) {
    last_error_ = err.what();
    reconnect_later();
    return;
  }
  away_ = false;
  metrics_.database_away(false);
  log::info("db.connected", {{"waiting", waiting_.size()}});
  schedule_flush();
}

void db_actor_state::reconnect_later() {
  self_->delayed_send(self_, backoff_, reconnect_atom_v);
  backoff_ = std::min(backoff_ * 2, options_.max_backoff);
}

actor_report db_actor_state::status() const {
  actor_report result;
  result.state = away_ ? "away" : waiting_.empty() ? "idle" : "running";
  result.mailbox = self_->mailbox().size() + waiting_.size();
  result.messages = writes_;
  result.last_error = last_error_;
  return result;
}

} // namespace reeve
