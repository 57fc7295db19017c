// tests/support/fake_store.cpp -- the rules of a store, without its database.
#include "support/fake_store.hpp"

#include <algorithm>
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

// Claims come last, so that a batch may claim what it adds.
int rank(const write& x) {
  if (std::holds_alternative<enqueue_write>(x)
      || std::holds_alternative<enqueue_batch_write>(x))
    return 0;
  return std::holds_alternative<claim_write>(x) ? 2 : 1;
}

} // namespace

// -- fake_database ------------------------------------------------------------

job* fake_database::find(const std::string& id) {
  for (auto& [seq, x] : jobs)
    if (x.id == id)
      return &x;
  return nullptr;
}

job* fake_database::find_running(int64_t seq, int64_t run) {
  auto i = jobs.find(seq);
  if (i == jobs.end() || i->second.run != run
      || i->second.status != job_status::processing)
    return nullptr;
  return &i->second;
}

// -- connection ---------------------------------------------------------------

std::string_view fake_store::backend() const {
  return "fake";
}

void fake_store::reconnect() {
  ++db_->reconnects;
  if (db_->down)
    throw store_unavailable("connection refused");
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
  std::vector<size_t> order(batch.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return rank(batch[a].what) < rank(batch[b].what);
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

write_answer fake_store::handle(const enqueue_write& x, bool) {
  auto& db = *db_;
  if (auto* same = db.find(x.id))
    return enqueued{*same, enqueue_kind::created, {}};
  if (x.target_id.empty())
    return refusal{refusal_code::invalid_argument, "target_id is empty"};
  for (auto& [seq, other] : db.jobs)
    if (x.unique_key && other.unique_key == x.unique_key
        && !is_final(other.status))
      return enqueued{other, enqueue_kind::deduplicated, {}};
  job added;
  added.seq = db.next_seq++;
  added.id = x.id;
  added.type = x.type;
  added.target_id = x.target_id;
  added.user_id = x.user_id;
  added.payload = x.payload;
  added.max_attempts = x.max_attempts;
  added.unique_key = x.unique_key;
  added.run_at = x.run_at.value_or(db.now);
  added.created_at = added.updated_at = db.now;
  db.jobs.emplace(added.seq, added);
  std::optional<std::string> scrap_id;
  if (x.new_scrap) {
    scrap_id = x.new_scrap->id;
    db.scraps.emplace(*scrap_id, *x.new_scrap);
  }
  return enqueued{std::move(added), enqueue_kind::created, scrap_id};
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

write_answer fake_store::handle(const heartbeat_write&, bool) {
  renewed result;
  for (const auto& [seq, x] : db_->jobs)
    if (x.status == job_status::processing)
      result.leases.push_back({seq, x.run, x.cancel_requested});
  return result;
}

write_answer fake_store::handle(const settle_write& x, bool repeated) {
  auto* what = db_->find_running(x.claimed.seq, x.claimed.run);
  if (what == nullptr) {
    // After a commit in doubt the first try's answer is the right one.
    auto i = db_->jobs.find(x.claimed.seq);
    if (repeated && i != db_->jobs.end() && i->second.run == x.claimed.run)
      return changed{i->second};
    return lease_lost();
  }
  switch (x.decision) {
    case verdict::complete:
      what->status = job_status::completed;
      what->result = x.result;
      if (x.card)
        db_->cards.insert_or_assign(x.card->id, *x.card);
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
  if (x.decision != verdict::complete)
    what->error_message = x.error;
  touch(*what);
  return changed{*what};
}

write_answer fake_store::handle(const cancel_write& x, bool) {
  auto* what = db_->find(x.id);
  if (what == nullptr)
    return not_found();
  if (is_final(what->status))
    return conflict();
  if (what->status == job_status::pending)
    what->status = job_status::cancelled;
  else
    what->cancel_requested = true;
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
  what->status = job_status::pending;
  what->attempts = 0;
  what->run_at = db_->now;
  touch(*what);
  return changed{*what};
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
    what.status = what.attempts < what.max_attempts ? job_status::pending
                                                    : job_status::failed;
    what.run_at = db_->now;
    touch(what);
    result.jobs.push_back(what);
  }
  return result;
}

write_answer fake_store::handle(const delete_scrap_write& x, bool) {
  if (db_->scraps.erase(x.id) == 0)
    return not_found();
  return done{};
}

write_answer fake_store::handle(const claim_write& x, bool repeated) {
  claimed result;
  auto& taken = db_->claims[x.token];
  if (repeated && !taken.empty()) {
    for (auto seq : taken)
      result.jobs.push_back(db_->jobs.at(seq));
    return result;
  }
  for (auto& [seq, what] : db_->jobs) {
    if (what.status != job_status::pending)
      continue;
    if (what.run_at > db_->now) {
      auto wait =
        std::chrono::ceil<std::chrono::milliseconds>(what.run_at - db_->now);
      result.next_due_in = std::min(wait, result.next_due_in.value_or(wait));
    } else if (result.jobs.size() == x.limit) {
      result.more = true;
    } else {
      what.status = job_status::processing;
      ++what.run;
      ++what.attempts;
      what.started_at = db_->now;
      touch(what);
      taken.push_back(seq);
      result.jobs.push_back(what);
    }
  }
  return result;
}

// -- reads --------------------------------------------------------------------

std::optional<job> fake_store::find_job(const std::string& id) {
  before_read();
  auto* found = db_->find(id);
  return found != nullptr ? std::optional{*found} : std::nullopt;
}

std::vector<job> fake_store::list_jobs(const job_filter& filter) {
  before_read();
  std::vector<job> result;
  for (auto i = db_->jobs.rbegin(); i != db_->jobs.rend(); ++i) {
    const auto& x = i->second;
    if ((!filter.status || x.status == *filter.status)
        && (!filter.type || x.type == *filter.type)
        && result.size() < filter.limit)
      result.push_back(x);
  }
  return result;
}

std::vector<attempt> fake_store::attempts_of(const std::string&) {
  before_read();
  return {};
}

std::optional<scrap> fake_store::find_scrap(const std::string& id) {
  before_read();
  auto i = db_->scraps.find(id);
  return i != db_->scraps.end() ? std::optional{i->second} : std::nullopt;
}

std::optional<knowledge_card> fake_store::find_card(const std::string& id) {
  before_read();
  auto i = db_->cards.find(id);
  return i != db_->cards.end() ? std::optional{i->second} : std::nullopt;
}

std::vector<knowledge_card> fake_store::cards_of_scrap(
  const std::string& scrap_id, uint32_t limit) {
  before_read();
  std::vector<knowledge_card> result;
  for (const auto& [id, card] : db_->cards)
    if (card.scrap_id == scrap_id && result.size() < limit)
      result.push_back(card);
  return result;
}

store_stats fake_store::stats() {
  before_read();
  std::map<std::pair<std::string, job_status>, int64_t> counts;
  for (const auto& [seq, x] : db_->jobs)
    ++counts[{x.type, x.status}];
  store_stats result;
  for (const auto& [key, count] : counts)
    result.counts.push_back({key.first, key.second, count});
  return result;
}

} // namespace reeve::test
