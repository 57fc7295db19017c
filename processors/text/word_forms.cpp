// processors/text/word_forms.cpp -- words without their endings.
#include "processors/text/word_forms.hpp"

#include "processors/text/plain_text.hpp"
#include "processors/text/stop_words.hpp"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace reeve::text {

namespace {

constexpr UChar32 first_syllable = 0xAC00;
constexpr UChar32 last_syllable = 0xD7A3;
// How many finals a syllable block may have, none among them.
constexpr UChar32 finals = 28;
constexpr UChar32 final_rieul = 8;
// In UTF-8.
constexpr size_t syllable_bytes = 3;

bool is_syllable(UChar32 code_point) {
  return code_point >= first_syllable && code_point <= last_syllable;
}

UChar32 last_code_point(std::string_view word) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(word.data());
  auto i = static_cast<int32_t>(word.size());
  UChar32 result = U_SENTINEL;
  if (i > 0)
    U8_PREV(bytes, 0, i, result);
  return result;
}

bool is_latin(std::string_view word) {
  return std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || c == '\'' || c == '-';
  });
}

// -- Korean -------------------------------------------------------------------

// What a particle may follow: many have one form behind a vowel and another
// behind a final consonant, which tells particles from words that end alike.
enum class behind : uint8_t { any, vowel, consonant, vowel_or_rieul };

struct particle {
  std::string_view text;
  behind what;
};

// Longer ones first.
constexpr std::array particles{
  particle{"에서부터", behind::any},
  particle{"으로부터", behind::consonant},
  particle{"이라는", behind::consonant},
  particle{"이라고", behind::consonant},
  particle{"이라도", behind::consonant},
  particle{"으로는", behind::consonant},
  particle{"으로도", behind::consonant},
  particle{"으로만", behind::consonant},
  particle{"으로써", behind::consonant},
  particle{"으로서", behind::consonant},
  particle{"로부터", behind::vowel_or_rieul},
  particle{"에서는", behind::any},
  particle{"에서도", behind::any},
  particle{"에서만", behind::any},
  particle{"에서의", behind::any},
  particle{"에게는", behind::any},
  particle{"에게서", behind::any},
  particle{"에게도", behind::any},
  particle{"까지는", behind::any},
  particle{"까지도", behind::any},
  particle{"부터는", behind::any},
  particle{"처럼은", behind::any},
  particle{"보다는", behind::any},
  particle{"보다도", behind::any},
  particle{"으로의", behind::consonant},
  particle{"까지의", behind::any},
  particle{"부터의", behind::any},
  particle{"에까지", behind::any},
  particle{"마다", behind::any},
  particle{"조차", behind::any},
  particle{"마저", behind::any},
  particle{"밖에", behind::any},
  particle{"한테", behind::any},
  particle{"께서", behind::any},
  particle{"에서", behind::any},
  particle{"에는", behind::any},
  particle{"에도", behind::any},
  particle{"에만", behind::any},
  particle{"에게", behind::any},
  particle{"까지", behind::any},
  particle{"부터", behind::any},
  particle{"처럼", behind::any},
  particle{"보다", behind::any},
  particle{"으로", behind::consonant},
  particle{"이나", behind::consonant},
  particle{"이며", behind::consonant},
  particle{"이고", behind::consonant},
  particle{"이다", behind::consonant},
  particle{"이란", behind::consonant},
  particle{"과는", behind::consonant},
  particle{"과의", behind::consonant},
  particle{"과도", behind::consonant},
  particle{"와도", behind::vowel},
  particle{"만은", behind::any},
  particle{"만을", behind::any},
  particle{"만이", behind::any},
  particle{"만의", behind::any},
  particle{"로의", behind::vowel_or_rieul},
  particle{"와는", behind::vowel},
  particle{"와의", behind::vowel},
  particle{"라는", behind::vowel},
  particle{"라고", behind::vowel},
  particle{"로는", behind::vowel_or_rieul},
  particle{"로도", behind::vowel_or_rieul},
  particle{"로만", behind::vowel_or_rieul},
  particle{"로써", behind::vowel_or_rieul},
  particle{"로서", behind::vowel_or_rieul},
  particle{"은", behind::consonant},
  particle{"는", behind::vowel},
  particle{"이", behind::consonant},
  particle{"가", behind::vowel},
  particle{"을", behind::consonant},
  particle{"를", behind::vowel},
  particle{"과", behind::consonant},
  particle{"와", behind::vowel},
  particle{"로", behind::vowel_or_rieul},
  particle{"의", behind::any},
  particle{"에", behind::any},
  particle{"도", behind::any},
  particle{"만", behind::any},
};

bool may_follow(behind what, UChar32 code_point) {
  // How a foreign word or a number is read aloud is not known here.
  if (!is_syllable(code_point) || what == behind::any)
    return true;
  auto final = (code_point - first_syllable) % finals;
  switch (what) {
    case behind::vowel:
      return final == 0;
    case behind::consonant:
      return final != 0;
    case behind::vowel_or_rieul:
      return final == 0 || final == final_rieul;
    case behind::any:
      break;
  }
  return true;
}

std::string_view without_particle(std::string_view word) {
  for (const auto& [ending, what] : particles) {
    if (!word.ends_with(ending))
      continue;
    auto rest = word.substr(0, word.size() - ending.size());
    if (code_points(rest) >= 2 && may_follow(what, last_code_point(rest)))
      return rest;
  }
  return word;
}

std::string_view without_plural_mark(std::string_view word) {
  constexpr std::string_view mark = "들";
  auto rest = word.substr(0, word.size() - std::min(word.size(), mark.size()));
  return word.ends_with(mark) && code_points(rest) >= 2 ? rest : word;
}

// Endings of verbs and adjectives, which carry a sentence's form more than its
// topic.
bool is_predicate(std::string_view word) {
  constexpr std::string_view endings[] = {
    "하는", "하고", "하여", "하며", "하면", "하게", "하던", "하지", "해서",
    "했던", "되는", "되고", "되어", "되며", "되면", "되지", "면서", "지만",
    "려고", "려면", "으면", "으며", "어서", "아서", "여서", "라서", "려서",
    "도록", "었던", "았던", "였던", "는데", "은데", "어야", "아야", "해야",
    "니다", "네요", "어요", "아요", "해요", "스럽", "로운", "스런", "따라",
    "거나", "든지", "기도", "기에", "않은", "있는", "없는"};
  // 바다 is a noun, 만든다 is not.
  if (word.ends_with("다") && word.size() >= 3 * syllable_bytes)
    return true;
  return std::any_of(std::begin(endings), std::end(endings),
                     [word](auto x) { return word.ends_with(x); });
}

// -- English ------------------------------------------------------------------

std::string_view without_possessive(std::string_view word) {
  for (std::string_view ending : {"'s", "\u2019s"})
    if (word.ends_with(ending))
      return word.substr(0, word.size() - ending.size());
  return word;
}

// Only regular plurals: a wrong guess would show in tags.
std::string singular(std::string_view word) {
  constexpr std::string_view no_plurals[] = {
    "always",    "series",   "species",   "news",    "lens",
    "means",     "perhaps",  "thus",      "gas",     "yes",
    "canvas",    "atlas",    "christmas", "physics", "mathematics",
    "economics", "politics", "athletics", "ethics"};
  std::string result{word};
  if (word.size() < 4 || !word.ends_with('s')
      || std::find(std::begin(no_plurals), std::end(no_plurals), word)
        != std::end(no_plurals))
    return result;
  if (word.ends_with("ss") || word.ends_with("us") || word.ends_with("is"))
    return result;
  if (word.ends_with("ies") && word.size() > 4) {
    result.replace(result.size() - 3, 3, "y");
    return result;
  }
  constexpr std::string_view sibilants[] = {"sses", "shes", "ches", "xes",
                                            "zzes"};
  for (auto ending : sibilants) {
    if (word.ends_with(ending)) {
      result.resize(result.size() - 2);
      return result;
    }
  }
  result.pop_back();
  return result;
}

} // namespace

std::string base_form(std::string_view word) {
  auto stem = without_possessive(word);
  if (is_latin(stem))
    return singular(stem);
  if (!is_syllable(last_code_point(stem)) || is_stop_word(stem))
    return std::string{stem};
  return std::string{without_plural_mark(without_particle(stem))};
}

bool is_keyword(std::string_view base) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(base.data());
  UChar32 first = 0;
  size_t i = 0;
  if (base.empty())
    return false;
  U8_NEXT(bytes, i, base.size(), first);
  // A numeral is a detail, and nobody searches for a 60-letter word.
  if (first < 0 || !u_isalpha(first))
    return false;
  auto length = code_points(base);
  if (length < (is_latin(base) ? 3u : 2u) || length > 40 || is_stop_word(base))
    return false;
  return !is_syllable(last_code_point(base)) || !is_predicate(base);
}

} // namespace reeve::text
