// persistence/postgres_completions.hpp -- the ends of runs that are nothing but
// a success, as parameters of one statement and as its answers.
#pragma once

#include "persistence/postgres_columns.hpp"
#include "persistence/postgres_writer.hpp"

namespace reeve {

/// The run that a write ends.
inline constexpr auto key_in = [](const auto* x) {
  return key_of(*x->what.claimed);
};

class postgres_writer::completions {
public:
  /// One for each run. The slots outlive this.
  explicit completions(std::vector<const slot<settle_write>*> slots);

  bool empty() const {
    return slots_.empty();
  }

  /// Appends their seqs, runs and results.
  void add_to(pqxx::params& values) const;

  /// Answers the end that `next` stands before; columns: what
  /// REEVE_COMPLETE_ENDED answers with.
  void answer(postgres_columns next);

  /// Those whose run is no longer under way.
  std::vector<const slot<settle_write>*> unanswered() const;

private:
  /// In the order of their keys.
  std::vector<const slot<settle_write>*> slots_;
  std::vector<bool> answered_;
};

} // namespace reeve
