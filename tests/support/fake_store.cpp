// tests/support/fake_store.cpp -- writes to a store in memory.
#include "support/fake_store.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace reeve::test {

namespace {

write_answer not_found() {
  return refusal{refusal_code::not_found, "there is no such thing"};
}

write_answer conflict() {
  return refusal{refusal_code::conflict, "the job's state forbids it"};
}

write_answer lease_lost() {
  return refusal{refusal_code::lease_lost, "another run owns the job"};
}

write_answer funds_are_short() {
  return refusal{refusal_code::insufficient_funds, "the balance is short"};
}

} // namespace

// -- connection ---------------------------------------------------------------

std::string_view fake_store::backend() const {
  return "fake";
}

void fake_store::reconnect() {
  ++db_->reconnects;
  if (db_->down)
    throw store_unavailable("connection refused");
}

void fake_store::announce() {
  ++db_->announcements;
}

void fake_store::add_api_key(const api_key& x) {
  db_->keys.push_back(x);
}

std::optional<api_key> fake_store::find_api_key(const std::string& digest) {
  before_read();
  for (const auto& key : db_->keys)
    if (key.digest == digest && !key.revoked_at)
      return key;
  return std::nullopt;
}

std::vector<api_key> fake_store::list_api_keys() {
  return db_->keys;
}

bool fake_store::revoke_api_key(const std::string& id) {
  return std::erase_if(db_->keys,
                       [&](const api_key& key) { return key.id == id; })
    > 0;
}

void fake_store::expect_claims() {
  ++db_->expectations;
}

void fake_store::ping() {
  if (db_->down)
    throw store_unavailable("connection refused");
}

void fake_store::before_read() {
  ++db_->reads;
  if (db_->down)
    throw store_unavailable("connection refused");
  if (db_->read_faults > 0) {
    --db_->read_faults;
    throw store_unavailable("connection reset");
  }
}

// -- writes -------------------------------------------------------------------

std::vector<write_answer> fake_store::apply(
  const std::vector<write_entry>& batch) {
  auto& db = *db_;
  db.batches.push_back(batch);
  auto planned = db.apply_faults.find(db.batches.size());
  auto fails = planned != db.apply_faults.end();
  if (db.down || (fails && planned->second == fault::before_commit))
    throw store_unavailable("connection reset");
  // `write` lists them in the order in which a store applies them.
  std::vector<size_t> order(batch.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return batch[a].what.index() < batch[b].what.index();
  });
  std::vector<write_answer> result(batch.size());
  for (auto i : order)
    result[i] = apply_one(batch[i]);
  ++db.commits;
  if (fails)
    throw store_unavailable("connection reset after the commit was sent");
  return result;
}

write_answer fake_store::apply_one(const write_entry& entry) {
  if (db_->script)
    if (auto answer = db_->script(entry))
      return std::move(*answer);
  auto apply_to = [&](const auto& x) { return handle(x, entry.repeated); };
  return std::visit(apply_to, entry.what);
}

void fake_store::touch(job& x) {
  ++x.version;
  x.updated_at = db_->now;
}

enqueued fake_store::answer_to(const enqueue_write& x, const job& what,
                               enqueue_kind kind) {
  enqueued result{what, kind, std::nullopt, std::nullopt};
  if (x.new_scrap && kind != enqueue_kind::deduplicated)
    result.scrap_id = what.target_id;
  if (x.price > 0)
    result.balance = db_->balances[x.user_id.value_or("")];
  return result;
}

write_answer fake_store::handle(const enqueue_write& x, bool) {
  auto& db = *db_;
  if (auto* same = db.find(x.id))
    return answer_to(x, *same, enqueue_kind::created);
  if (x.target_id.empty() || (x.price > 0 && !x.user_id))
    return refusal{refusal_code::invalid_argument, "target_id is empty"};
  for (auto& [seq, other] : db.jobs)
    if (x.unique_key && other.unique_key == x.unique_key
        && !is_final(other.status))
      return answer_to(x, other, enqueue_kind::deduplicated);
  job added;
  added.seq = db.next_seq;
  added.id = x.id;
  added.type = x.type;
  added.target_id = x.target_id;
  added.user_id = x.user_id;
  added.payload = x.payload;
  added.priority = x.priority;
  added.max_attempts = x.max_attempts;
  added.unique_key = x.unique_key;
  added.trace = x.trace;
  added.run_at = x.run_at.value_or(db.now);
  added.created_at = added.updated_at = db.now;
  if (x.price > 0)
    db.prices[added.seq] = x.price;
  if (!db.charge(added))
    return funds_are_short();
  ++db.next_seq;
  db.jobs.emplace(added.seq, added);
  if (x.new_scrap)
    db.scraps.emplace(x.new_scrap->id, *x.new_scrap);
  if (x.new_content) {
    auto& book = db.contents[x.new_content->id] = *x.new_content;
    book.job_id = x.id;
    book.created_at = db.now;
  }
  return answer_to(x, added, enqueue_kind::created);
}

write_answer fake_store::handle(const enqueue_batch_write& x, bool repeated) {
  auto before = *db_;
  enqueued_batch result;
  for (const auto& member : x.jobs) {
    auto answer = handle(member, repeated);
    if (auto* added = std::get_if<enqueued>(&answer)) {
      result.jobs.push_back(std::move(*added));
    } else {
      *db_ = std::move(before);
      return answer;
    }
  }
  return result;
}

write_answer fake_store::handle(const progress_write& x, bool) {
  auto* what = db_->find_running(x.seq, x.run);
  if (what == nullptr)
    return lease_lost();
  what->progress_percent = x.percent;
  what->progress_message = x.message;
  touch(*what);
  return changed{*what};
}

write_answer fake_store::handle(const step_write& x, bool) {
  auto* what = db_->find_running(x.seq, x.run);
  if (what == nullptr)
    return lease_lost();
  auto& steps = db_->steps[x.seq];
  for (const auto& step : steps)
    if (step.name == x.step.name && step.input_hash == x.step.input_hash)
      return changed{*what};
  if (!db_->store(x.effects))
    return refusal{refusal_code::not_found, std::string{target_gone_message}};
  db_->steps[x.seq].push_back(x.step);
  db_->steps[x.seq].back().run = x.run;
  db_->steps[x.seq].back().created_at = db_->now;
  what = db_->find_running(x.seq, x.run);
  what->used += x.step.used;
  touch(*what);
  return changed{*what};
}

write_answer fake_store::handle(const heartbeat_write&, bool) {
  renewed result;
  for (const auto& [seq, x] : db_->jobs)
    if (x.status == job_status::processing)
      result.leases.push_back({seq, x.run, x.cancel_requested, 0});
  return result;
}

write_answer fake_store::handle(const settle_write& x, bool repeated) {
  auto* what = db_->find_running(x.claimed->seq, x.claimed->run);
  if (what == nullptr) {
    // After a commit in doubt the first try's answer is the right one.
    auto i = db_->jobs.find(x.claimed->seq);
    if (repeated && i != db_->jobs.end() && i->second.run == x.claimed->run)
      return changed{i->second};
    return lease_lost();
  }
  auto decision = x.decision;
  auto error = x.error;
  if (decision == verdict::complete && !db_->store(x.effects)) {
    decision = verdict::fail;
    error = target_gone_message;
  }
  // Effects may have undone what they had stored.
  what = db_->find_running(x.claimed->seq, x.claimed->run);
  switch (decision) {
    case verdict::complete:
      what->status = job_status::completed;
      what->result = x.result;
      what->progress_percent = 100;
      break;
    case verdict::fail:
      what->status = job_status::failed;
      break;
    case verdict::cancel:
      what->status = job_status::cancelled;
      break;
    case verdict::retry_unspent:
      --what->attempts;
      [[fallthrough]];
    case verdict::retry:
      what->status = job_status::pending;
      what->run_at = db_->now + x.delay;
      break;
  }
  if (decision == verdict::complete)
    what->error_message.reset();
  else
    what->error_message = error;
  if (is_final(what->status)) {
    what->finished_at = db_->now;
    what->cancel_requested = false;
    what->progress_message.clear();
    if (decision != verdict::complete)
      db_->refund(*what);
  }
  touch(*what);
  if (decision == verdict::complete && x.effects.empty())
    return completed{x.claimed, x.result, what->version, *what->finished_at,
                     what->used};
  return changed{*what};
}

write_answer fake_store::handle(const cancel_write& x, bool) {
  auto* what = db_->find(x.id);
  if (what == nullptr)
    return not_found();
  if (is_final(what->status))
    return conflict();
  if (what->status == job_status::pending) {
    what->status = job_status::cancelled;
    what->finished_at = db_->now;
    db_->refund(*what);
  } else {
    what->cancel_requested = true;
  }
  touch(*what);
  return changed{*what};
}

write_answer fake_store::handle(const retry_write& x, bool) {
  auto* what = db_->find(x.id);
  if (what == nullptr)
    return not_found();
  if (what->status != job_status::failed
      && what->status != job_status::cancelled)
    return conflict();
  if (!db_->charge(*what))
    return funds_are_short();
  reopen(*what);
  return changed{*what};
}

void fake_store::reopen(job& what) {
  what.status = job_status::pending;
  what.attempts = 0;
  what.run_at = db_->now;
  what.finished_at.reset();
  touch(what);
}

write_answer fake_store::handle(const bulk_retry_write& x, bool) {
  bulk_retried result;
  result.failed_until = x.failed_until.value_or(db_->now);
  for (auto i = db_->jobs.rbegin(); i != db_->jobs.rend(); ++i) {
    auto& [seq, what] = *i;
    if (!fits(what, x.filter) || (x.before_seq && seq >= *x.before_seq)
        || what.finished_at > result.failed_until)
      continue;
    if (result.matched == x.limit)
      return result;
    ++result.matched;
    result.next_before_seq = seq;
    if (key_is_held(what) || !db_->charge(what))
      continue;
    reopen(what);
    result.jobs.push_back(what);
  }
  result.next_before_seq.reset();
  return result;
}

bool fake_store::key_is_held(const job& x) const {
  return x.unique_key
    && std::any_of(db_->jobs.begin(), db_->jobs.end(), [&](const auto& other) {
           return other.second.unique_key == x.unique_key
             && !is_final(other.second.status);
         });
}

write_answer fake_store::handle(const rescue_write& x, bool) {
  rescued result;
  for (auto& [seq, what] : db_->jobs) {
    if (what.status != job_status::processing)
      continue;
    if (result.jobs.size() == x.limit) {
      result.more = true;
      break;
    }
    what.run_at = db_->now;
    if (what.cancel_requested) {
      what.status = job_status::cancelled;
    } else {
      what.status = what.attempts < what.max_attempts ? job_status::pending
                                                      : job_status::failed;
      what.error_message = "the node died";
    }
    if (is_final(what.status)) {
      what.finished_at = db_->now;
      db_->refund(what);
    }
    touch(what);
    result.jobs.push_back(what);
  }
  return result;
}

write_answer fake_store::handle(const prune_write& x, bool) {
  pruned result;
  result.jobs =
    static_cast<uint32_t>(std::erase_if(db_->jobs, [&](const auto& entry) {
      const job& what = entry.second;
      return what.type == x.type && what.finished_at
        && *what.finished_at < db_->now - x.older_than;
    }));
  return result;
}

write_answer fake_store::handle(const delete_scrap_write& x, bool) {
  if (db_->scraps.erase(x.id) == 0)
    return not_found();
  return done{};
}

write_answer fake_store::handle(const pause_write& x, bool) {
  db_->types[x.type] = {x.type, x.paused, x.paused ? x.reason : "", db_->now};
  return done{};
}

write_answer fake_store::handle(const summary_write& x, bool) {
  for (const auto& [id, known] : db_->summaries)
    if (std::tie(known.user_id, known.date, known.time_zone)
        == std::tie(x.what.user_id, x.what.date, x.what.time_zone))
      return stored_summary{known, id == x.what.id};
  auto& added = db_->summaries[x.what.id] = x.what;
  added.created_at = db_->now;
  return stored_summary{added, true};
}

write_answer fake_store::handle(const grant_write& x, bool) {
  if (!db_->grants.contains(x.id)
      && !db_->book(x.user_id, ledger_kind::grant, x.amount, std::nullopt,
                    x.note))
    return funds_are_short();
  db_->grants.insert(x.id);
  return granted{db_->balances[x.user_id]};
}

write_answer fake_store::handle(const claim_write& x, bool repeated) {
  claimed result;
  auto& taken = db_->claims[x.token];
  if (repeated && !taken.empty()) {
    for (auto seq : taken)
      result.jobs.push_back(db_->jobs.at(seq));
    return result;
  }
  std::map<std::string, uint32_t> left;
  for (const auto& one : x.types) {
    auto runs = [&one](const auto& entry) {
      return entry.second.type == one.type
        && entry.second.status == job_status::processing;
    };
    auto running =
      static_cast<uint32_t>(std::ranges::count_if(db_->jobs, runs));
    auto room =
      one.across == 0 ? one.limit : one.across - std::min(one.across, running);
    if (db_->is_paused(one.type))
      result.paused.push_back(one.type);
    else
      left[one.type] = std::min(one.limit, room);
  }
  std::vector<job*> due;
  for (auto& [seq, what] : db_->jobs) {
    if (what.status != job_status::pending || !left.contains(what.type))
      continue;
    if (what.run_at > db_->now) {
      auto wait =
        std::chrono::ceil<std::chrono::milliseconds>(what.run_at - db_->now);
      result.next_due_in = std::min(wait, result.next_due_in.value_or(wait));
    } else {
      due.push_back(&what);
    }
  }
  std::sort(due.begin(), due.end(),
            [](const job* a, const job* b) { return claimed_sooner(*a, *b); });
  for (auto* what : due) {
    if (left[what->type] == 0)
      continue;
    if (result.jobs.size() == x.limit) {
      result.more = true;
      break;
    }
    --left[what->type];
    what->status = job_status::processing;
    ++what->run;
    ++what->attempts;
    what->started_at = db_->now;
    touch(*what);
    taken.push_back(what->seq);
    result.jobs.push_back(*what);
  }
  return result;
}

} // namespace reeve::test
