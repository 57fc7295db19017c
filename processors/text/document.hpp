// processors/text/document.hpp -- a text as sentences and the terms in them.
#pragma once

#include "processors/text/segmentation.hpp"

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace reeve::text {

/// What the inflected forms of one word have in common.
struct term {
  /// The base form.
  std::string key;
  /// What people see: the base form if the text has it, else the form it has
  /// most often.
  std::string label;
  /// Occurrences in the sentences.
  uint32_t count = 0;
  /// Sentences it occurs in.
  uint32_t spread = 0;
  /// In how many forms it occurs: a Korean noun goes with many particles.
  uint32_t forms = 0;
  bool in_title = false;
  /// Says what the text is about; see `is_keyword`.
  bool keyword = false;
  bool stop_word = false;
};

/// A text that was split, counted and indexed. Terms are numbered in the order
/// in which they occur, those of the title first.
class document {
public:
  /// Both must be valid UTF-8; the title may be empty. Incomplete once `stop`
  /// fires.
  document(std::string_view title, std::string_view content,
           const std::stop_token& stop);

  const std::vector<sentence>& sentences() const noexcept {
    return sentences_;
  }

  const std::vector<term>& terms() const noexcept {
    return terms_;
  }

  /// The distinct terms of each sentence, by number.
  const std::vector<std::vector<uint32_t>>& terms_by_sentence() const noexcept {
    return terms_by_sentence_;
  }

private:
  using number_map = std::unordered_map<std::string, uint32_t>;

  uint32_t number_of(const std::string& word);
  void add_title(const std::vector<sentence>& title);
  void count_terms();
  void label_terms();

  std::vector<sentence> sentences_;
  std::vector<term> terms_;
  std::vector<std::vector<uint32_t>> terms_by_sentence_;
  // Words as they stand in the text, and how often; then what they belong to.
  std::unordered_map<std::string, uint32_t> forms_;
  number_map by_word_;
  number_map by_key_;
};

} // namespace reeve::text
