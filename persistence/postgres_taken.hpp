// persistence/postgres_taken.hpp -- what the statement of a claim answered.
#pragma once

#include "persistence/job_store.hpp"

#include <pqxx/pqxx>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace reeve {

/// Jobs that a claim took, as rows. It may have looked several times.
class postgres_taken final : public unread_claim {
public:
  explicit postgres_taken(uint32_t limit) : limit_(limit) {
    // nop
  }

  /// What one look found.
  void add(pqxx::result rows);

  size_t size() const override {
    return size_;
  }

  std::map<std::string, size_t> count_by_type() const override;

  claimed read() override;

  /// All that was asked for.
  bool is_full() const {
    return limit_ > 0 && size_ >= limit_;
  }

  /// Rows that the last look found and others have; empty: none.
  const std::vector<int64_t>& missed() const {
    return missed_;
  }

  /// All but the jobs.
  claimed& rest() {
    return rest_;
  }

private:
  struct look {
    pqxx::result rows;
    /// The one that holds no job.
    int head = 0;
  };

  template <class F>
  void for_each_row(F f) const;

  uint32_t limit_;
  size_t size_ = 0;
  std::vector<look> looks_;
  std::vector<int64_t> missed_;
  claimed rest_;
};

} // namespace reeve
