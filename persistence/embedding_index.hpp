// persistence/embedding_index.hpp -- exact search for similar cards, in memory.
#pragma once

#include "persistence/job.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace reeve {

/// The embeddings of all cards and what searches filter by; about 1.1 KB for a
/// card of 256 dimensions. A store fills it from its table and keeps it up to
/// date by `seq`. Not thread-safe.
class embedding_index {
public:
  struct hit {
    /// The card's key in its table.
    int64_t seq = 0;
    std::string card_id;
    /// The cosine, -1 to 1, in steps of a millionth: floats tell no more
    /// apart, and what is equal stays equal whoever computes it. 0 when one of
    /// the two has no direction.
    double similarity = 0;
  };

  /// Adds a card; one that is known already, or has no embedding, is skipped.
  void add(int64_t seq, std::string card_id,
           const std::optional<std::string>& user_id, timestamp created_at,
           const std::vector<float>& embedding);

  /// Forgets a card, e.g. one that its table no longer has.
  void remove(int64_t seq);

  /// At most `limit` cards with as many dimensions, most similar first; of
  /// equals the older one. Only cards of `user_id`, and made before `before`,
  /// when these are given.
  std::vector<hit> search(const std::vector<float>& embedding,
                          const std::optional<std::string>& user_id,
                          std::optional<timestamp> before,
                          uint32_t limit) const;

  /// The largest `seq` that was added, 0 when there is none.
  int64_t last_seq() const {
    return last_seq_;
  }

  /// How many cards can be found.
  size_t size() const;

private:
  static constexpr uint32_t nobody = 0;

  struct entry {
    int64_t seq = 0;
    timestamp created_at;
    /// Position in `users_`.
    uint32_t user = nobody;
    std::string card_id;
  };

  /// All cards of one number of dimensions.
  struct group {
    std::vector<entry> entries;
    /// One row an entry, of length 1, padded with zeros to whole vectors.
    std::vector<float> rows;
  };

  uint32_t user_number(const std::optional<std::string>& user_id);

  std::map<size_t, group> groups_;
  std::unordered_map<std::string, uint32_t> users_;
  std::unordered_set<int64_t> known_;
  int64_t last_seq_ = 0;
};

} // namespace reeve
