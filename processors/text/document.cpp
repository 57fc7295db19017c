// processors/text/document.cpp -- a text as sentences and the terms in them.
#include "processors/text/document.hpp"

#include "processors/text/stop_words.hpp"
#include "processors/text/word_forms.hpp"

#include <algorithm>
#include <unordered_set>

namespace reeve::text {

document::document(std::string_view title, std::string_view content,
                   const std::stop_token& stop)
  : sentences_(split(content, stop)) {
  auto titles = split(title, stop);
  for (const auto* part : {&titles, &sentences_})
    for (const auto& x : *part)
      for (const auto& word : x.words)
        ++forms_[word];
  // A word that is the base of another one in the same text has nothing to be
  // stripped: where 고양이는 occurs, 고양이 is not 고양 with a particle.
  std::unordered_set<std::string> bases;
  for (const auto& [word, count] : forms_)
    if (auto base = base_form(word); base != word)
      bases.insert(std::move(base));
  for (const auto& [word, count] : forms_)
    if (bases.contains(word))
      by_word_.emplace(word, UINT32_MAX);
  add_title(titles);
  count_terms();
  label_terms();
}

uint32_t document::number_of(const std::string& word) {
  auto [known, is_new] = by_word_.try_emplace(word, UINT32_MAX);
  if (known->second != UINT32_MAX)
    return known->second;
  auto key = is_new ? base_form(word) : word;
  auto [i, is_new_term] =
    by_key_.try_emplace(key, static_cast<uint32_t>(terms_.size()));
  if (is_new_term) {
    term x;
    x.keyword = is_keyword(key) && !is_stop_word(word);
    x.stop_word = is_stop_word(key) || is_stop_word(word);
    x.key = std::move(key);
    terms_.push_back(std::move(x));
  }
  return known->second = i->second;
}

void document::add_title(const std::vector<sentence>& title) {
  for (const auto& x : title)
    for (const auto& word : x.words)
      terms_[number_of(word)].in_title = true;
}

void document::count_terms() {
  terms_by_sentence_.reserve(sentences_.size());
  for (const auto& x : sentences_) {
    std::vector<uint32_t> numbers;
    for (const auto& word : x.words) {
      numbers.push_back(number_of(word));
      ++terms_[numbers.back()].count;
    }
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    for (auto number : numbers)
      ++terms_[number].spread;
    terms_by_sentence_.push_back(std::move(numbers));
  }
}

void document::label_terms() {
  std::vector<uint32_t> best(terms_.size(), 0);
  for (const auto& [word, number] : by_word_) {
    auto& x = terms_[number];
    ++x.forms;
    auto count = forms_[word];
    // Ties must not depend on the order of a hash table.
    if (count > best[number] || (count == best[number] && word < x.label)) {
      best[number] = count;
      x.label = word;
    }
  }
  for (auto& x : terms_) {
    auto ascii = std::all_of(x.key.begin(), x.key.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x80;
    });
    // A particle is never a part of the word; an English base form may be no
    // word at all.
    if (!ascii || forms_.contains(x.key))
      x.label = x.key;
  }
}

} // namespace reeve::text
