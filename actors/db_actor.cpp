// actors/db_actor.cpp -- whatever queued up while one transaction committed
// becomes the next one.
#include "actors/db_actor.hpp"

#include "config/log.hpp"
#include "persistence/store_rules.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_set>
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

// What a transaction made visible; only changes, not what was found. The
// supervisor tells of what it claimed: there the jobs are shared, here they
// would be copied. An end of a run tells its sender nothing but that it was
// committed, and gives away what it has.
void collect(const write& what, write_answer& answer,
             std::vector<job_change>& out) {
  auto add = [&out](const job& x) {
    out.emplace_back(std::make_shared<const job>(x));
  };
  if (const auto* x = std::get_if<enqueued>(&answer)) {
    if (x->kind == enqueue_kind::created)
      add(x->job);
  } else if (const auto* x = std::get_if<enqueued_batch>(&answer)) {
    for (const auto& member : x->jobs)
      if (member.kind == enqueue_kind::created)
        add(member.job);
  } else if (auto* x = std::get_if<changed>(&answer)) {
    if (std::holds_alternative<settle_write>(what))
      out.emplace_back(std::make_shared<const job>(std::move(x->job)));
    else
      add(x->job);
  } else if (auto* x = std::get_if<completed>(&answer)) {
    out.emplace_back(std::move(*x));
  } else if (const auto* x = std::get_if<rescued>(&answer)) {
    std::ranges::for_each(x->jobs, add);
  } else if (const auto* x = std::get_if<bulk_retried>(&answer)) {
    std::ranges::for_each(x->jobs, add);
  }
}

// Whether a job is left behind that some node could start now: what was added
// and claimed in one transaction is due for nobody.
bool leaves_due_work(const std::vector<job_change>& changes,
                     const std::vector<write_answer>& answers) {
  std::unordered_set<int64_t> due;
  for (const auto& change : changes) {
    const auto& x = change.subject();
    // Both times are the store's.
    if (change.status() == job_status::pending && x.run_at <= x.updated_at)
      due.insert(x.seq);
    else if (!due.empty())
      due.erase(x.seq);
  }
  if (due.empty())
    return false;
  for (const auto& answer : answers)
    if (const auto* x = std::get_if<claimed>(&answer))
      std::ranges::for_each(x->jobs,
                            [&due](const job& taken) { due.erase(taken.seq); });
  return !due.empty();
}

} // namespace

db_actor_state::db_actor_state(db_actor::pointer self,
                               std::unique_ptr<job_store> store,
                               change_sink_actor sink, db_actor_options options)
  : self_(self),
    store_(std::move(store)),
    sink_(std::move(sink)),
    options_(std::move(options)),
    metrics_(self->system()),
    backoff_(options_.first_backoff) {
  metrics_.database_up(!away_);
}

db_actor::behavior_type db_actor_state::make_behavior() {
  return {
    // -- writer_actor ---------------------------------------------------------
    [this](enqueue_write& x) {
      note_arrival();
      return append<enqueued>(std::move(x));
    },
    [this](enqueue_batch_write& x) {
      note_arrival();
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
    [this](caf::join_atom, claim_write& x) {
      return append<claimed>(std::move(x), false,
                             commit_when::next_write_comes);
    },
    [this](caf::join_atom, enqueue_write& x) {
      note_arrival();
      return append<enqueued>(std::move(x), false,
                              commit_when::next_write_comes_soon);
    },
    [this](settle_list& x, bool repeated) { return append(x, repeated); },
    [this](step_write& x, bool repeated) {
      return append<changed>(std::move(x), repeated);
    },
    [this](heartbeat_write& x) { return append<renewed>(std::move(x)); },
    [this](rescue_write& x) { return append<rescued>(std::move(x)); },
    [this](prune_write& x) { return append<pruned>(std::move(x)); },
    [this](announce_atom) { announce(); },
    [this](flush_atom) { flush(); },
    [this](flush_atom, uint64_t commits) {
      if (commits == commits_)
        lose_patience();
    },
    [this](reconnect_atom) { reconnect(); },
  };
}

template <class Answer>
caf::result<Answer> db_actor_state::append(write what, bool repeated,
                                           commit_when when) {
  // Whoever wants it can ask again.
  if (away_)
    return caf::make_error(ec::store_unavailable, last_error_);
  auto promise = self_->make_response_promise<Answer>();
  auto deliver = [promise](std::span<write_answer> x) mutable {
    answer(promise, std::move(x.front()));
  };
  pending one;
  one.entries.push_back({std::move(what), repeated});
  one.deliver = std::move(deliver);
  waiting_.push_back(std::move(one));
  schedule_flush(when);
  return promise;
}

// A finished run's result was paid for: it waits for the database.
caf::result<settled> db_actor_state::append(settle_list& what, bool repeated) {
  auto promise = self_->make_response_promise<settled>();
  if (what.empty()) {
    promise.deliver(settled{});
    return promise;
  }
  if (away_)
    forget_waiting(what);
  // A commit costs about the same with one write in it and with two, and nobody
  // waits for that of an end as for that of a job.
  auto is_patient =
    !repeated && expects_arrival() && std::ranges::all_of(what, is_plain);
  auto deliver = [promise](std::span<write_answer> answers) mutable {
    settled result;
    result.refusals.reserve(answers.size());
    for (auto& x : answers) {
      auto* no = std::get_if<refusal>(&x);
      result.refusals.push_back(no ? std::optional{std::move(*no)}
                                   : std::nullopt);
    }
    promise.deliver(std::move(result));
  };
  pending all;
  all.entries.reserve(what.size());
  for (auto& x : what)
    all.entries.push_back({std::move(x), repeated});
  all.deliver = std::move(deliver);
  waiting_.push_back(std::move(all));
  schedule_flush(is_patient ? commit_when::next_write_comes_soon
                            : commit_when::now);
  return promise;
}

// Who asks again asks for the same runs.
void db_actor_state::forget_waiting(const settle_list& x) {
  std::set<run_key> asked;
  for (const auto& one : x)
    asked.insert(key_of(*one.claimed));
  auto is_asked_again = [&asked](const write_entry& entry) {
    const auto* other = std::get_if<settle_write>(&entry.what);
    return other != nullptr && asked.contains(key_of(*other->claimed));
  };
  std::erase_if(waiting_, [&](const pending& older) {
    return std::ranges::all_of(older.entries, is_asked_again);
  });
}

void db_actor_state::schedule_flush() {
  if (flush_scheduled_ || away_ || waiting_.empty())
    return;
  // The message goes behind everything that is in the mailbox by now, so the
  // batch grows with the load and an idle node commits at once.
  flush_scheduled_ = true;
  self_->send(self_, flush_atom_v);
}

void db_actor_state::schedule_flush(commit_when when) {
  if (when == commit_when::now)
    return schedule_flush();
  if (when == commit_when::next_write_comes || flush_scheduled_
      || patient_since_ == commits_)
    return;
  patient_since_ = commits_;
  self_->delayed_send(self_, options_.patience, flush_atom_v, commits_);
}

// Nothing came: who comes one after the other may be waiting for these ends.
void db_actor_state::lose_patience() {
  impatient_until_ = self_->clock().now() + options_.impatience;
  schedule_flush();
}

void db_actor_state::note_arrival() {
  auto now = self_->clock().now();
  if (arrived_at_)
    arrival_gap_ = now - *arrived_at_;
  arrived_at_ = now;
}

bool db_actor_state::expects_arrival() const {
  auto now = self_->clock().now();
  return now >= impatient_until_ && arrival_gap_ < options_.patience
    && now - *arrived_at_ < options_.patience;
}

void db_actor_state::flush() {
  flush_scheduled_ = false;
  if (away_ || waiting_.empty())
    return;
  queue_.record(static_cast<double>(waiting_.size()));
  size_t writes = 0, count = 0;
  while (count < waiting_.size()
         && (count == 0
             || writes + waiting_[count].entries.size() <= options_.max_batch))
    writes += waiting_[count++].entries.size();
  auto split = waiting_.begin() + static_cast<ptrdiff_t>(count);
  std::vector<pending> batch{std::make_move_iterator(waiting_.begin()),
                             std::make_move_iterator(split)};
  waiting_.erase(waiting_.begin(), split);
  commit(batch);
  schedule_flush();
}

void db_actor_state::commit(std::vector<pending>& batch) {
  std::vector<write_entry> entries;
  for (auto& x : batch)
    std::ranges::move(x.entries, std::back_inserter(entries));
  std::vector<write_answer> answers;
  auto started = self_->clock().now();
  try {
    answers = store_->apply(entries);
  } catch (const store_unavailable& err) {
    auto next = entries.begin();
    for (auto& x : batch)
      for (auto& entry : x.entries)
        entry = std::move(*next++);
    lose_connection(std::move(batch), err.what());
    return;
  }
  proven_ = true;
  backoff_ = options_.first_backoff;
  ++commits_;
  writes_ += entries.size();
  auto took = self_->clock().now() - started;
  metrics_.committed(entries.size(), took);
  batch_.record(static_cast<double>(entries.size()));
  commit_seconds_.record(std::chrono::duration<double>(took).count());
  auto leaves_work = publish(entries, answers);
  std::span rest{answers};
  for (auto& x : batch) {
    x.deliver(rest.first(x.entries.size()));
    rest = rest.subspan(x.entries.size());
  }
  if (leaves_work)
    announce();
}

// Tells whether somebody else may find work in it.
bool db_actor_state::publish(const std::vector<write_entry>& entries,
                             std::vector<write_answer>& answers) {
  committed_changes changes;
  changes.jobs.reserve(answers.size());
  for (size_t i = 0; i < answers.size(); ++i)
    collect(entries[i].what, answers[i], changes.jobs);
  if (changes.jobs.empty())
    return false;
  // Answers come in the order of requests, which is not the order in which the
  // store applies kinds of writes; versions are.
  if (!std::ranges::is_sorted(changes.jobs, {}, &job_change::version))
    std::ranges::stable_sort(changes.jobs, {}, &job_change::version);
  const auto result = leaves_due_work(changes.jobs, answers);
  changes.leaves_due_work = result;
  self_->send(sink_, std::move(changes));
  return result;
}

// What was just committed can wait for its announcement, its client not.
void db_actor_state::announce() {
  auto now = self_->clock().now();
  if (announced_at_ && now < *announced_at_ + options_.announce_interval) {
    if (!std::exchange(announce_armed_, true))
      self_->scheduled_send(self_, *announced_at_ + options_.announce_interval,
                            announce_atom_v);
    return;
  }
  announce_armed_ = false;
  announced_at_ = now;
  if (away_)
    return;
  try {
    store_->announce();
  } catch (const store_unavailable& err) {
    lose_connection({}, err.what());
  }
}

void db_actor_state::lose_connection(std::vector<pending> batch,
                                     const char* what) {
  away_ = true;
  last_error_ = what;
  // Nobody is worse off without these, and what the database has against them
  // must not keep all others from it.
  std::erase_if(batch, [what](pending& x) {
    auto is_prune = [](const write_entry& entry) {
      return std::holds_alternative<prune_write>(entry.what);
    };
    if (!std::ranges::all_of(x.entries, is_prune))
      return false;
    std::vector<write_answer> answers(x.entries.size(),
                                      refusal{refusal_code::blocked, what});
    x.deliver(answers);
    return true;
  });
  // Whether the commit happened is not known: the store looks first.
  for (auto& x : batch)
    for (auto& entry : x.entries)
      entry.repeated = true;
  waiting_.insert(waiting_.begin(), std::make_move_iterator(batch.begin()),
                  std::make_move_iterator(batch.end()));
  metrics_.database_up(false);
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
  metrics_.database_up(true);
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
  result.counts = {{"writes", writes_}, {"commits", commits_}};
  result.commits = {batch_.read(), commit_seconds_.read(), queue_.read()};
  result.last_error = last_error_;
  return result;
}

} // namespace reeve
