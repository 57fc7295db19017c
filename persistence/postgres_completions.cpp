// persistence/postgres_completions.cpp -- runs that end together.
#include "persistence/postgres_completions.hpp"

#include <algorithm>

namespace reeve {

postgres_writer::completions::completions(
  std::vector<const slot<settle_write>*> slots)
  : slots_(std::move(slots)), answered_(slots_.size()) {
  std::ranges::sort(slots_, {}, key_in);
}

void postgres_writer::completions::add_to(pqxx::params& values) const {
  std::vector<int64_t> seqs, runs;
  std::vector<std::optional<std::string_view>> results;
  seqs.reserve(slots_.size());
  runs.reserve(slots_.size());
  results.reserve(slots_.size());
  for (const auto* x : slots_) {
    seqs.push_back(x->what.claimed->seq);
    runs.push_back(x->what.claimed->run);
    results.emplace_back();
    if (!x->what.result.is_null())
      results.back() = x->what.result.text();
  }
  values.append(seqs);
  values.append(runs);
  values.append(results);
}

void postgres_writer::completions::answer(postgres_columns next) {
  run_key which;
  which.first = next.number<int64_t>();
  which.second = next.number<int64_t>();
  const auto at = std::ranges::lower_bound(slots_, which, {}, key_in);
  completed end;
  end.claimed = (*at)->what.claimed;
  end.result = (*at)->what.result;
  end.version = next.number<int64_t>();
  end.finished_at = next.time();
  end.used = next.used();
  (*at)->answer = std::move(end);
  answered_[static_cast<size_t>(at - slots_.begin())] = true;
}

std::vector<const postgres_writer::slot<settle_write>*> postgres_writer::
  completions::unanswered() const {
  std::vector<const slot<settle_write>*> result;
  for (size_t i = 0; i < slots_.size(); ++i)
    if (!answered_[i])
      result.push_back(slots_[i]);
  return result;
}

} // namespace reeve
