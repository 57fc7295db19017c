// processors/recall_search.cpp -- which earlier cards go with a day's.
#include "processors/recall_search.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace reeve {

namespace {

double length(const std::vector<float>& x) {
  double result = 0;
  for (auto number : x)
    result += static_cast<double>(number) * number;
  return std::sqrt(result);
}

bool has_direction(double length) {
  return std::isfinite(length) && length > 0;
}

size_t most_common_dimension(const std::vector<knowledge_card>& cards) {
  std::map<size_t, size_t> counts;
  for (const auto& card : cards)
    if (!card.embedding.empty())
      ++counts[card.embedding.size()];
  std::pair<size_t, size_t> best{0, 0};
  for (auto [dimension, count] : counts)
    best = std::max(best, {count, dimension});
  return best.second;
}

} // namespace

std::vector<float> mean_embedding(const std::vector<knowledge_card>& cards) {
  std::vector<double> sum(most_common_dimension(cards));
  for (const auto& card : cards) {
    auto size = length(card.embedding);
    if (card.embedding.size() != sum.size() || !has_direction(size))
      continue;
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += card.embedding[i] / size;
  }
  std::vector<float> result(sum.size());
  std::transform(sum.begin(), sum.end(), result.begin(), [&cards](double x) {
    return static_cast<float>(x / static_cast<double>(cards.size()));
  });
  if (!has_direction(length(result)))
    result.clear();
  return result;
}

std::vector<card_hit> worth_recalling(
  std::vector<card_hit> hits, const daily_summary& day,
  const std::vector<knowledge_card>& today) {
  std::set<std::string> ids;
  std::set<std::string> scraps;
  for (const auto& card : today) {
    ids.insert(card.id);
    scraps.insert(card.scrap_id);
  }
  auto of_no_use = [&](const card_hit& x) {
    return !(x.similarity > min_recall_similarity)
      || x.card.user_id != day.user_id || x.card.created_at >= day.day_start
      || ids.contains(x.card.id) || scraps.contains(x.card.scrap_id);
  };
  std::erase_if(hits, of_no_use);
  if (hits.size() > max_recalled)
    hits.resize(max_recalled);
  return hits;
}

} // namespace reeve
