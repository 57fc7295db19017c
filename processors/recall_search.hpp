// processors/recall_search.hpp -- which earlier cards go with a day's.
#pragma once

#include "persistence/cards.hpp"

#include <vector>

namespace reeve {

/// Earlier cards that a recall names at most.
inline constexpr size_t max_recalled = 5;

/// Cards that are less alike are not brought up. Two directions taken at random
/// in 256 dimensions (as local embeddings have) have a cosine of 0 ± 0.06: what
/// is above three times that has something in common.
inline constexpr double min_recall_similarity = 0.2;

/// The direction in which most of a day lies: the mean of the embeddings, each
/// brought to length 1. Embeddings of different models cannot be mixed, so only
/// those of the most common number of dimensions count; of equally common ones
/// the largest. Empty when no card has a direction, or they cancel out.
std::vector<float> mean_embedding(const std::vector<knowledge_card>& cards);

/// The first `max_recalled` hits that are alike enough, are of the same user,
/// and say something that `today` does not say itself: neither one of its cards
/// nor another card of a scrap of its cards.
std::vector<card_hit> worth_recalling(std::vector<card_hit> hits,
                                      const daily_summary& day,
                                      const std::vector<knowledge_card>& today);

} // namespace reeve
