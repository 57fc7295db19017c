// processors/text/extract.cpp -- the sentences and words that say most.
#include "processors/text/extract.hpp"

#include "processors/text/plain_text.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace reeve::text {

namespace {

// Tuned by reading what comes out; the ideas are SumBasic's (frequent words
// make a sentence telling, and count less once they have been said) with the
// bias for the first sentences that news and encyclopedias reward.
constexpr double title_bonus = 1.5;
constexpr double said_already = 0.25;
constexpr double opening_bonus = 1.4;
constexpr double early_bonus = 1.1;
constexpr double fragment_penalty = 0.5;
constexpr double heading_penalty = 0.25;
// Less terms than this make a heading or an exclamation.
constexpr size_t fragment_terms = 4;
// Keeps a sentence of two frequent words from beating all others.
constexpr double length_offset = 6.0;

class selection {
public:
  selection(const document& text, const summary_limits& limits)
    : text_(text), budget_(limits.code_points) {
    for (const auto& x : text.terms())
      weights_.push_back(x.stop_word ? 0.0
                                     : std::sqrt(x.count)
                             * (x.in_title ? title_bonus : 1.0));
    taken_.resize(text.sentences().size());
    for (const auto& x : text.sentences()) {
      lengths_.push_back(code_points(x.text));
      terminated_.push_back(is_terminated(x.text));
    }
    auto first = std::find(terminated_.begin(), terminated_.end(), true);
    if (first != terminated_.end())
      opening_ = first - terminated_.begin();
  }

  // The best sentence that is left and fits.
  std::optional<size_t> next() const {
    std::optional<size_t> best;
    auto best_score = 0.0;
    for (size_t i = 0; i < taken_.size(); ++i) {
      if (taken_[i] || lengths_[i] > budget_)
        continue;
      auto score = score_of(i);
      if (!best || score > best_score) {
        best = i;
        best_score = score;
      }
    }
    return best;
  }

  size_t best_of_all() const {
    size_t best = 0;
    for (size_t i = 1; i < taken_.size(); ++i)
      if (score_of(i) > score_of(best))
        best = i;
    return best;
  }

  void take(size_t i) {
    // One more for the space in front of the next.
    budget_ -= std::min(budget_, lengths_[i] + 1);
    for (auto number : text_.terms_by_sentence()[i])
      weights_[number] *= said_already;
    // With its copies: a page may repeat a sentence in full.
    for (size_t j = 0; j < taken_.size(); ++j)
      if (text_.sentences()[j].text == text_.sentences()[i].text)
        taken_[j] = true;
    chosen_.push_back(i);
  }

  std::string joined() {
    std::sort(chosen_.begin(), chosen_.end());
    std::string result;
    for (auto i : chosen_) {
      if (!result.empty())
        result += ' ';
      result += text_.sentences()[i].text;
    }
    return result;
  }

private:
  double score_of(size_t i) const {
    const auto& numbers = text_.terms_by_sentence()[i];
    auto sum = 0.0;
    size_t telling = 0;
    for (auto number : numbers) {
      sum += weights_[number];
      telling += text_.terms()[number].stop_word ? 0 : 1;
    }
    auto score = sum / std::sqrt(numbers.size() + length_offset);
    if (telling < fragment_terms)
      score *= fragment_penalty;
    if (!terminated_[i])
      score *= heading_penalty;
    if (i == opening_)
      score *= opening_bonus;
    else if (i * 5 < taken_.size())
      score *= early_bonus;
    return score;
  }

  const document& text_;
  size_t budget_;
  std::vector<double> weights_;
  std::vector<size_t> lengths_;
  std::vector<bool> terminated_;
  // The first sentence that is no heading.
  size_t opening_ = 0;
  std::vector<bool> taken_;
  std::vector<size_t> chosen_;
};

} // namespace

std::string summarize(const document& text, const summary_limits& limits) {
  auto total = text.sentences().size();
  if (total == 0)
    return {};
  selection best{text, limits};
  // Half of a short text: a summary that repeats all of it is none.
  auto wanted = std::clamp<size_t>((total + 1) / 2, 1, limits.sentences);
  for (size_t n = 0; n < wanted; ++n) {
    auto i = best.next();
    if (!i)
      break;
    best.take(*i);
  }
  auto result = best.joined();
  if (result.empty())
    result = cut_at_word(text.sentences()[best.best_of_all()].text,
                         limits.code_points);
  return result;
}

std::vector<std::string> keywords(const document& text, size_t limit) {
  std::vector<const term*> candidates;
  for (const auto& x : text.terms())
    if (x.keyword)
      candidates.push_back(&x);
  // A word all over the text says more than one repeated in a single place.
  auto weight = [](const term& x) {
    return x.count + x.spread + std::min(x.forms, 3u) + (x.in_title ? 3 : 0);
  };
  auto n = std::min(limit, candidates.size());
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&weight](const term* a, const term* b) {
                     return weight(*a) > weight(*b);
                   });
  std::vector<std::string> result;
  for (size_t i = 0; i < n; ++i)
    result.push_back(candidates[i]->label);
  return result;
}

} // namespace reeve::text
