// tests/unit/processors/word_forms.test.cpp -- endings that go and stay.
#define CAF_SUITE processors.word_forms

#include "processors/text/word_forms.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <utility>

using namespace reeve::text;

namespace {

using table = std::initializer_list<std::pair<const char*, const char*>>;

void check_bases(table rows) {
  for (const auto& [word, base] : rows)
    CHECK_EQ(base_form(word), base);
}

} // namespace

CAF_TEST(English plurals and possessives) {
  check_bases({{"tides", "tide"},
               {"cities", "city"},
               {"boxes", "box"},
               {"classes", "class"},
               {"churches", "church"},
               {"mill's", "mill"},
               {"mill\u2019s", "mill"},
               {"horses", "horse"}});
}

CAF_TEST(English words that only look like plurals) {
  check_bases({{"glass", "glass"},
               {"bus", "bus"},
               {"analysis", "analysis"},
               {"corpus", "corpus"},
               {"series", "series"},
               {"news", "news"},
               {"pies", "pie"},
               {"s", "s"},
               {"", ""}});
}

CAF_TEST(Korean particles) {
  check_bases(
    {{"한지는", "한지"},   {"한지를", "한지"},    {"한지의", "한지"},
     {"장인은", "장인"},   {"장인이", "장인"},    {"장인과", "장인"},
     {"바다와", "바다"},   {"학교에서", "학교"},  {"학교에서는", "학교"},
     {"서울까지", "서울"}, {"서울로", "서울"},    {"산속으로", "산속"},
     {"친구에게", "친구"}, {"어제부터", "어제"},  {"종이처럼", "종이"},
     {"기계보다", "기계"}, {"사람들은", "사람"},  {"학생들", "학생"},
     {"caf는", "caf"},     {"1945년에", "1945년"}});
}

CAF_TEST(Korean syllables that are part of the word) {
  // One syllable is left, or the particle does not fit what is before it.
  check_bases({{"나이", "나이"},
               {"종이", "종이"},
               {"회의", "회의"},
               {"전문가", "전문가"},
               {"효과", "효과"},
               {"들", "들"},
               {"은", "은"}});
}

CAF_TEST(keywords) {
  for (auto word : {"tide", "한지", "바다", "c2c", "écluse", "東京"})
    CHECK(is_keyword(word));
  for (auto word : {"", "the", "of", "ab", "1945", "1945년", "그리고", "만든다",
                    "물", "합니다", "사용하는"})
    CHECK(!is_keyword(word));
  CHECK(!is_keyword(std::string(41, 'x')));
}
