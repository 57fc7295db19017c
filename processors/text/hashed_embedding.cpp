// processors/text/hashed_embedding.cpp -- a text as a point in space, without
// a model.
#include "processors/text/hashed_embedding.hpp"

#include "processors/text/plain_text.hpp"

#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace reeve::text {

namespace {

// A whole word says more than a part of it, of which it has several.
constexpr int64_t word_weight = 48;
constexpr int64_t trigram_weight = 10;
constexpr uint64_t fnv_offset = 14'695'981'039'346'656'037u;
constexpr uint64_t fnv_prime = 1'099'511'628'211u;

// FNV-1a, then MurmurHash3's finalizer, since FNV leaves the top bits of short
// texts alike. `kind` keeps a word apart from a trigram of the same letters.
uint64_t hash_of(char kind, std::string_view text) {
  auto result = fnv_offset;
  auto add = [&result](char c) {
    result = (result ^ static_cast<unsigned char>(c)) * fnv_prime;
  };
  add(kind);
  for (auto c : text)
    add(c);
  result = (result ^ (result >> 33)) * 0xFF51AFD7ED558CCDu;
  result = (result ^ (result >> 33)) * 0xC4CEB9FE1A85EC53u;
  return result ^ (result >> 33);
}

class vector_builder {
public:
  void add(char kind, std::string_view feature, int64_t weight) {
    auto hash = hash_of(kind, feature);
    // Signs let features that share a place cancel out on average.
    buckets_[hash % embedding_dimension] += hash >> 63 ? -weight : weight;
  }

  // Of the text between two marks, so that beginnings and ends of words count
  // as such and short words have trigrams too.
  void add_trigrams(std::string_view word, int64_t weight) {
    auto marked = '<' + std::string{word} + '>';
    const auto* bytes = reinterpret_cast<const uint8_t*>(marked.data());
    std::array<size_t, 3> starts{};
    size_t n = 0;
    for (size_t i = 0; i < marked.size(); ++n) {
      auto start = i;
      U8_FWD_1(bytes, i, marked.size());
      std::rotate(starts.begin(), starts.begin() + 1, starts.end());
      starts.back() = start;
      if (n >= 2)
        add('t', std::string_view{marked}.substr(starts[0], i - starts[0]),
            weight);
    }
  }

  std::vector<float> normalized(std::string_view raw) {
    if (std::all_of(buckets_.begin(), buckets_.end(),
                    [](int64_t x) { return x == 0; }))
      add('r', raw, 1);
    uint64_t squares = 0;
    for (auto x : buckets_)
      squares += static_cast<uint64_t>(x * x);
    // IEEE 754 rounds square roots and quotients correctly, everywhere.
    auto length = std::sqrt(static_cast<double>(squares));
    std::vector<float> result;
    result.reserve(buckets_.size());
    for (auto x : buckets_)
      result.push_back(static_cast<float>(static_cast<double>(x) / length));
    return result;
  }

private:
  std::array<int64_t, embedding_dimension> buckets_{};
};

// Grows with the logarithm: the tenth occurrence adds little.
int64_t times_weight(const term& x) {
  return std::bit_width(x.count) + (x.in_title ? 1 : 0);
}

} // namespace

std::vector<float> hashed_embedding(const document& text, std::string_view raw,
                                    const std::stop_token& stop) {
  vector_builder result;
  const auto& terms = text.terms();
  // Stop words make all texts of a language alike; if there is nothing else,
  // they are what the text is about.
  auto all_stop_words = std::all_of(terms.begin(), terms.end(),
                                    [](const term& x) { return x.stop_word; });
  for (const auto& x : terms) {
    if (stop.stop_requested())
      break;
    if (x.stop_word && !all_stop_words)
      continue;
    auto times = times_weight(x);
    result.add('w', x.key, word_weight * times);
    result.add_trigrams(x.key, trigram_weight * times);
  }
  auto line = one_line(raw);
  if (terms.empty())
    result.add_trigrams(line, trigram_weight);
  return result.normalized(line);
}

} // namespace reeve::text
