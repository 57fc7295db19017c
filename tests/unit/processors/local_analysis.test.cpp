// tests/unit/processors/local_analysis.test.cpp -- extraction without a model.
#define CAF_SUITE processors.local_analysis

#include "processors/ai/local_analysis.hpp"

#include "processors/ai/analysis_check.hpp"
#include "processors/text/hashed_embedding.hpp"
#include "processors/text/plain_text.hpp"
#include "tests/unit/processors/fake_server.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

using namespace reeve;
using namespace std::literals;

namespace {

using clock_type = std::chrono::steady_clock;

scrap scrap_of(std::string content, std::optional<std::string> title = {}) {
  scrap result;
  result.content = std::move(content);
  result.title = std::move(title);
  return result;
}

analysis analyzed(std::string content, std::optional<std::string> title = {}) {
  auto got = local_analysis{}.analyze(scrap_of(std::move(content), title), {});
  if (auto* err = std::get_if<provider_failure>(&got.result))
    CAF_FAIL("no analysis: " << err->message);
  auto result = std::get<analysis>(std::move(got.result));
  // Whatever the text: it makes a card.
  CHECK(std::holds_alternative<analysis>(accepted(result)));
  CHECK_EQ(result.model, "local-extractive-1");
  CHECK_LE(text::code_points(result.summary), 600u);
  CHECK_LE(result.tags.size(), 5u);
  CHECK_EQ(result.embedding.size(), 256u);
  double squares = 0;
  for (auto x : result.embedding)
    squares += double{x} * x;
  CHECK(std::abs(squares - 1) < 1e-5);
  return result;
}

double cosine(const analysis& a, const analysis& b) {
  double result = 0;
  for (size_t i = 0; i < a.embedding.size(); ++i)
    result += double{a.embedding[i]} * b.embedding[i];
  return result;
}

bool has_tag(const analysis& x, std::string_view tag) {
  return std::find(x.tags.begin(), x.tags.end(), tag) != x.tags.end();
}

std::string repeated(std::string_view unit, size_t bytes) {
  std::string result;
  while (result.size() < bytes)
    result += unit;
  return result;
}

// Checks that the summary is made of whole sentences of `content`, which end
// in `. ` or at the end, in their order.
void check_verbatim(const std::string& summary, const std::string& content) {
  auto line = text::one_line(content);
  size_t from = 0;
  size_t found = 0;
  std::string rest = summary;
  while (!rest.empty()) {
    auto end = rest.find(". ");
    auto sentence = rest.substr(0, end == std::string::npos ? end : end + 1);
    rest.erase(0, end == std::string::npos ? end : end + 2);
    auto at = line.find(sentence, from);
    REQUIRE_NE(at, std::string::npos);
    CHECK(at == 0 || line[at - 1] == ' ');
    CHECK(sentence.ends_with('.'));
    from = at + sentence.size();
    ++found;
  }
  CHECK_GE(found, 1u);
  CHECK_LE(found, 3u);
}

} // namespace

CAF_TEST(an English article) {
  auto content = test::read_file("data/article-en.txt");
  auto got = analyzed(content);
  check_verbatim(got.summary, content);
  CHECK(has_tag(got, "tide"));
  CHECK(has_tag(got, "mill"));
  CHECK(has_tag(got, "pond"));
  CHECK_EQ(got.tags.size(), 5u);
}

CAF_TEST(a Korean article) {
  auto content = test::read_file("data/article-ko.txt");
  auto got = analyzed(content);
  check_verbatim(got.summary, content);
  CHECK(has_tag(got, "한지"));
  CHECK(has_tag(got, "섬유"));
  CHECK(has_tag(got, "종이"));
  CHECK(has_tag(got, "닥나무"));
  CHECK_EQ(got.tags.size(), 5u);
}

CAF_TEST(the same text gives the same analysis) {
  auto content = test::read_file("data/article-ko.txt");
  auto a = analyzed(content);
  auto b = analyzed(content);
  CHECK_EQ(a.summary, b.summary);
  CHECK_EQ(a.tags, b.tags);
  CHECK_EQ(a.embedding, b.embedding);
}

CAF_TEST(embeddings do not depend on the machine) {
  // Computed by another implementation, in Python. A change here makes all
  // stored cards incomparable with new ones.
  auto got = analyzed("tide");
  auto length = std::sqrt(48.0 * 48.0 + 4 * 10.0 * 10.0);
  std::vector<std::pair<size_t, long>> places;
  for (size_t i = 0; i < got.embedding.size(); ++i)
    if (got.embedding[i] != 0)
      places.emplace_back(i, std::lround(got.embedding[i] * length));
  using expected = std::vector<std::pair<size_t, long>>;
  CHECK_EQ(places,
           (expected{{33, 10}, {66, -10}, {147, -10}, {202, 10}, {225, -48}}));
}

CAF_TEST(similar texts are closer than unrelated ones) {
  auto mills_1 = analyzed("Tide mills use the sea. A dam holds back the water "
                          "of the rising tide, and a wheel grinds corn.");
  auto mills_2 = analyzed("The miller opened the gate of his dam at low tide "
                          "so that the water turned the mill wheel.");
  auto cork = analyzed("Cork oaks are stripped of their bark by hand every "
                       "nine years in Portugal, without felling a tree.");
  CHECK_GT(cosine(mills_1, mills_2), cosine(mills_1, cork) + 0.1);
  CHECK_GT(cosine(mills_1, mills_2), cosine(mills_2, cork) + 0.1);
  auto paper_1 =
    analyzed("한지는 닥나무 껍질로 만든 종이다. 섬유가 길어서 질기다.");
  auto paper_2 = analyzed(
    "장인은 닥나무의 섬유를 물에 풀어 종이를 뜬다. 그것을 한지라고 부른다.");
  auto salt = analyzed(
    "염전에서는 바닷물을 가두어 햇볕에 말린다. 소금은 여름에 많이 난다.");
  CHECK_GT(cosine(paper_1, paper_2), cosine(paper_1, salt) + 0.1);
  CHECK_GT(cosine(paper_1, paper_2), cosine(paper_2, salt) + 0.1);
  auto article = analyzed(test::read_file("data/article-ko.txt"));
  CHECK_GT(cosine(paper_1, article), cosine(salt, article) + 0.1);
}

CAF_TEST(a title counts for tags but is not the summary) {
  auto content = "The old one was repaired in spring. Nobody knew how long "
                 "the repair would hold."s;
  auto got = analyzed(content, "Windmill sails");
  CHECK(has_tag(got, "windmill"));
  CHECK_NE(content.find(got.summary), std::string::npos);
}

CAF_TEST(one sentence is its own summary) {
  CHECK_EQ(analyzed("Only one sentence here.").summary,
           "Only one sentence here.");
  CHECK_EQ(analyzed("  한 문장뿐이다.\n").summary, "한 문장뿐이다.");
  CHECK_EQ(analyzed("word").summary, "word");
}

CAF_TEST(abbreviations and numbers do not end a sentence) {
  auto got = analyzed("Dr. Smith paid 2.50 dollars for it. He left.");
  CHECK_EQ(got.summary, "Dr. Smith paid 2.50 dollars for it.");
}

CAF_TEST(wrapped lines are joined and headings are not ) {
  auto got = analyzed(
    "A heading\n\nThis sentence about lighthouses and their keepers was\r\n"
    "wrapped by somebody whose editor has seventy columns.\r\n");
  CHECK_EQ(got.summary,
           "This sentence about lighthouses and their keepers was "
           "wrapped by somebody whose editor has seventy "
           "columns.");
}

CAF_TEST(mixed text gets tags of both languages) {
  auto got = analyzed(
    "CAF는 액터 모델을 구현한 C++ 라이브러리다. CAF에서 액터는 메시지로 "
    "통신한다. The actor model scales well, and CAF keeps "
    "each actor small.");
  CHECK(has_tag(got, "caf"));
  CHECK(has_tag(got, "액터"));
  CHECK(has_tag(got, "actor"));
}

CAF_TEST(text without an end is cut at a word) {
  auto got = analyzed(repeated("endless words ", 5'000));
  CHECK(got.summary.ends_with("words\u2026")
        || got.summary.ends_with("endless\u2026"));
  CHECK_GE(text::code_points(got.summary), 580u);
  got = analyzed(repeated("\ub05d\uc5c6\ub294 \ub9d0 ", 5'000));
  CHECK(got.summary.ends_with("\u2026"));
  // Not even a word ends.
  got = analyzed(repeated("x", 5'000));
  CHECK_EQ(got.summary, std::string(599, 'x') + "\u2026");
}

CAF_TEST(a sentence that occurs twice is said once) {
  auto got = analyzed("The bridge fell. The bridge fell. The bridge fell. "
                      "It was rebuilt of stone. It was rebuilt of stone.");
  CHECK_EQ(got.summary.find("fell"), got.summary.rfind("fell"));
  CHECK_EQ(got.summary.find("stone"), got.summary.rfind("stone"));
}

CAF_TEST(emoji are a text too) {
  auto got = analyzed("\U0001F600\U0001F600 \U0001F468\u200D\U0001F469"
                      "\u200D\U0001F467");
  CHECK(!got.summary.empty());
  CHECK(got.tags.empty());
  auto other = analyzed("\u2764\uFE0F\U0001F525\U0001F680");
  CHECK_LT(cosine(got, other), 0.9);
}

CAF_TEST(nothing visible is nothing to analyse) {
  for (auto blank : {""s, " "s, "\n\t\r\n"s, "\u00a0\u3000"s, "\u200b\ufeff"s,
                     "\0\0"s, "\xFF\xFE"s, "\u3164"s}) {
    auto got = local_analysis{}.analyze(scrap_of(blank, "A title"), {});
    auto* err = std::get_if<provider_failure>(&got.result);
    REQUIRE(err != nullptr);
    CHECK(err->kind == run_outcome::failed_permanently);
    CHECK_NE(err->message.find("nothing to analyse"), std::string::npos);
  }
}

CAF_TEST(hostile text makes a card as well) {
  for (auto nasty :
       {"."s, "...!!!???"s, "\u0301\u0301\u0301"s, "a\xC3"s, "\xED\xA0\x80 x"s,
        "\u202Eabc\u202C def."s, "a\0b. c\0d."s, "<script>alert(1)</script>"s,
        "the and of to"s, "12345 67890."s, "\uFDFA\uFDFA"s, "이 그 저"s,
        "\u1112\u1161\u11ab\u110c\u1175 \u1112\u1161\u11ab\u110c\u1175"s})
    analyzed(nasty);
}

CAF_TEST(decomposed Hangul is the same as composed) {
  auto a = analyzed("\u1112\u1161\u11ab\u110c\u1175\u1102\u1173\u11ab "
                    "\u110c\u1169\u11bc\u110b\u1175\u1103\u1161.");
  auto b = analyzed("\ud55c\uc9c0\ub294 \uc885\uc774\ub2e4.");
  CHECK_EQ(a.embedding, b.embedding);
}

CAF_TEST(large texts are analysed in part and in time) {
  auto article = test::read_file("data/article-ko.txt");
  for (auto unit : {"a. "s, "word "s, "x"s, "\n"s, "Dr. "s, "é"s, "\u0e01"s,
                    "\u4e2d"s, "\u1100"s, "\U0001F468\u200D"s, article}) {
    MESSAGE("unit: " << unit.substr(0, 20));
    auto text = "Start. " + repeated(unit, 1'000'000);
    auto start = clock_type::now();
    analyzed(std::move(text));
    // About 20 times what an optimized build takes.
    CHECK_LT(clock_type::now() - start, 20s);
  }
}

CAF_TEST(a fired stop ends the work) {
  std::stop_source source;
  source.request_stop();
  auto start = clock_type::now();
  auto got = local_analysis{}.analyze(scrap_of(repeated("a. ", 1'000'000)),
                                      source.get_token());
  auto* err = std::get_if<provider_failure>(&got.result);
  REQUIRE(err != nullptr);
  CHECK(err->kind == run_outcome::cancelled);
  CHECK_LT(clock_type::now() - start, 5s);
}

CAF_TEST(an embedding alone is that of the analysis) {
  auto content = test::read_file("data/article-en.txt");
  auto got = local_analysis{}.embed(content, {});
  REQUIRE(got.ok());
  CHECK_EQ(std::get<std::vector<float>>(got.result),
           analyzed(content).embedding);
  CHECK_EQ(got.used, usage{});
  CHECK(local_analysis{}.lane().name().empty());
  got = local_analysis{}.embed(" \n", {});
  auto* err = std::get_if<provider_failure>(&got.result);
  REQUIRE(err != nullptr);
  CHECK(err->kind == run_outcome::failed_permanently);
}
