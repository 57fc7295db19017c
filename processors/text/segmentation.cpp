// processors/text/segmentation.cpp -- sentences and words by Unicode's rules.
#include "processors/text/segmentation.hpp"

#include "processors/text/plain_text.hpp"

#include <unicode/brkiter.h>
#include <unicode/bytestream.h>
#include <unicode/filteredbrk.h>
#include <unicode/normalizer2.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

#include <cstdint>
#include <memory>
#include <stdexcept>

namespace reeve::text {

namespace {

// A line that is at least this wide and does not end its paragraph was wrapped
// by an editor; a shorter one is a heading, a verse or an item of a list.
constexpr size_t wrapped_columns = 50;

void check(UErrorCode status) {
  if (U_FAILURE(status))
    throw std::runtime_error(std::string{"ICU: "} + u_errorName(status));
}

// ICU's iterator over UTF-8; positions are bytes.
class boundaries {
public:
  explicit boundaries(std::unique_ptr<icu::BreakIterator> iterator)
    : iterator_(std::move(iterator)) {
    // nop
  }

  // `text` must outlive the iteration.
  void start(std::string_view text) {
    auto status = U_ZERO_ERROR;
    text_.adoptInstead(utext_openUTF8(
      nullptr, text.data(), static_cast<int64_t>(text.size()), &status));
    check(status);
    iterator_->setText(text_.getAlias(), status);
    check(status);
  }

  icu::BreakIterator* operator->() const {
    return iterator_.get();
  }

private:
  icu::LocalUTextPointer text_;
  std::unique_ptr<icu::BreakIterator> iterator_;
};

boundaries word_boundaries() {
  auto status = U_ZERO_ERROR;
  std::unique_ptr<icu::BreakIterator> result{
    icu::BreakIterator::createWordInstance(icu::Locale::getRoot(), status)};
  check(status);
  return boundaries{std::move(result)};
}

// With the list of English abbreviations that end in a dot but no sentence.
// The rules of sentences are the same for all languages with a root entry.
boundaries sentence_boundaries() {
  auto status = U_ZERO_ERROR;
  std::unique_ptr<icu::BreakIterator> plain{
    icu::BreakIterator::createSentenceInstance(icu::Locale::getEnglish(),
                                               status)};
  check(status);
  std::unique_ptr<icu::FilteredBreakIteratorBuilder> builder{
    icu::FilteredBreakIteratorBuilder::createInstance(icu::Locale::getEnglish(),
                                                      status)};
  check(status);
  std::unique_ptr<icu::BreakIterator> result{
    builder->wrapIteratorWithFilter(plain.release(), status)};
  check(status);
  return boundaries{std::move(result)};
}

// `- item`, `## heading`, `3. item`.
bool starts_item(std::string_view line) {
  constexpr std::string_view bullets[] = {
    "-", "*", "#", ">", "\u2022", "\u00b7", "\u25cb", "\u25cf", "\u25aa"};
  for (auto bullet : bullets) {
    auto rest = line;
    while (rest.starts_with(bullet))
      rest.remove_prefix(bullet.size());
    if (rest.size() < line.size())
      return rest.starts_with(' ');
  }
  // Not a year at the start of a wrapped line.
  auto digits = line.find_first_not_of("0123456789");
  return digits >= 1 && digits <= 2
    && (line[digits] == '.' || line[digits] == ')')
    && line.substr(digits + 1).starts_with(' ');
}

// One paragraph a line: wrapped lines are joined.
std::string unwrapped(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  auto joins = false;
  while (!text.empty()) {
    auto end = text.find_first_of("\n\r");
    auto line = one_line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (end != std::string_view::npos && !text.empty() && text.front() == '\n')
      // CR LF is one line end, LF LF an empty line: look at what stood there.
      if (*(text.data() - 1) == '\r')
        text.remove_prefix(1);
    if (!result.empty() && !line.empty())
      result += joins && !starts_item(line) ? ' ' : '\n';
    joins = columns(line) >= wrapped_columns;
    result += line;
  }
  return result;
}

std::string folded(std::string_view word, const icu::Normalizer2& normalizer) {
  auto status = U_ZERO_ERROR;
  std::string result;
  icu::StringByteSink<std::string> sink{&result};
  normalizer.normalizeUTF8(
    0, icu::StringPiece{word.data(), static_cast<int32_t>(word.size())}, sink,
    nullptr, status);
  check(status);
  return result;
}

std::vector<std::string> words_of(std::string_view line, boundaries& words,
                                  const icu::Normalizer2& normalizer) {
  std::vector<std::string> result;
  words.start(line);
  auto start = words->first();
  for (auto end = words->next(); end != icu::BreakIterator::DONE;
       start = end, end = words->next()) {
    if (words->getRuleStatus() < UBRK_WORD_NONE_LIMIT)
      continue;
    auto word = folded(line.substr(start, end - start), normalizer);
    if (!word.empty())
      result.push_back(std::move(word));
  }
  return result;
}

} // namespace

std::vector<sentence> split(std::string_view text,
                            const std::stop_token& stop) {
  auto status = U_ZERO_ERROR;
  const auto* normalizer = icu::Normalizer2::getNFKCCasefoldInstance(status);
  check(status);
  auto paragraphs = unwrapped(text);
  auto words = word_boundaries();
  auto sentences = sentence_boundaries();
  sentences.start(paragraphs);
  std::vector<sentence> result;
  auto start = sentences->first();
  for (auto end = sentences->next();
       end != icu::BreakIterator::DONE && !stop.stop_requested();
       start = end, end = sentences->next()) {
    auto line =
      one_line(std::string_view{paragraphs}.substr(start, end - start));
    if (is_blank(line))
      continue;
    auto found = words_of(line, words, *normalizer);
    result.push_back({std::move(line), std::move(found)});
  }
  return result;
}

std::string cut_at_word(std::string_view line, size_t limit) {
  if (code_points(line) <= limit || limit == 0)
    return std::string{line};
  // One code point is for the ellipsis.
  const auto* bytes = reinterpret_cast<const uint8_t*>(line.data());
  size_t end = 0;
  U8_FWD_N(bytes, end, line.size(), limit - 1);
  auto words = word_boundaries();
  words.start(line);
  auto boundary = words->isBoundary(static_cast<int32_t>(end))
    ? static_cast<int32_t>(end)
    : words->preceding(static_cast<int32_t>(end));
  if (boundary > 0)
    end = static_cast<size_t>(boundary);
  auto result = one_line(line.substr(0, end));
  return result += "\u2026";
}

} // namespace reeve::text
