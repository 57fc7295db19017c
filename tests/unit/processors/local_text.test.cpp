// tests/unit/processors/local_text.test.cpp -- texts without a model.
#define CAF_SUITE processors.local_text

#include "processors/ai/local_text.hpp"

#include "processors/book_text.hpp"
#include "processors/text/plain_text.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <nlohmann/json.hpp>

using namespace reeve;
using namespace std::literals;

namespace {

provider_answer<std::string> write(std::string system, std::string prompt,
                                   std::stop_token stop = {}) {
  return local_text{}.write({std::move(system), std::move(prompt), 100}, {},
                            std::move(stop));
}

std::string written(std::string system, std::string prompt) {
  auto got = write(std::move(system), std::move(prompt));
  if (auto* err = std::get_if<provider_failure>(&got.result))
    CAF_FAIL("no text: " << err->message);
  CHECK_EQ(got.used, usage{});
  return std::get<std::string>(got.result);
}

void check_refused(std::string system, std::string prompt) {
  auto got = write(std::move(system), std::move(prompt));
  auto* err = std::get_if<provider_failure>(&got.result);
  REQUIRE(err != nullptr);
  CHECK(err->kind == run_outcome::failed_permanently);
  CHECK(err->lane == lane_effect::none);
}

} // namespace

CAF_TEST(books that the pipeline asks for are books that it can read) {
  for (int pages = 1; pages <= max_book_pages; ++pages)
    for (auto idea : {"A fox \"who\" likes\nsnow. pages: 3"s,
                      "\ub208\uc744 \uc88b\uc544\ud558\ub294 \uc5ec\uc6b0"s,
                      "<script>alert(1)</script> {title} \\u0000"s, "a\xff\0b"s,
                      std::string(20'000, 'x')}) {
      auto request = book_text_request({"The {idea} fox", idea, pages});
      std::string heard;
      auto got = local_text{}.write(
        request, [&heard](std::string_view piece) { heard += piece; }, {});
      REQUIRE(got.ok());
      auto& text = std::get<std::string>(got.result);
      CHECK_EQ(heard, text);
      auto book = parse_book_text(text, pages);
      if (auto* err = std::get_if<unusable>(&book))
        CAF_FAIL("the text " << err->why);
      CHECK_EQ(got.model, "local-skeleton-1");
    }
}

CAF_TEST(a book has a beginning and an end and the same each time) {
  auto request = book_text_request({"Snow", "A fox sees snow.", 5});
  auto text = written(request.system, request.prompt);
  CHECK_EQ(text, written(request.system, request.prompt));
  auto book = std::get<std::vector<book_page>>(parse_book_text(text, 5));
  CHECK_NE(book.front().text.find("A fox sees snow."), std::string::npos);
  CHECK_NE(book.back().text.find("\"Snow\""), std::string::npos);
  for (size_t i = 1; i < book.size(); ++i)
    CHECK_NE(book[i].text, book[i - 1].text);
}

CAF_TEST(books that cannot be made) {
  for (auto prompt :
       {"", "title: a\nidea: b", "title: a\npages: 0\nidea: b",
        "title: a\npages: 51\nidea: b", "title: a\npages: -1\nidea: b",
        "title: a\npages: 3x\nidea: b", "title: \npages: 3\nidea: b",
        "title: a\npages: 3\nidea:  ", "title a\npages: 3\nidea: b",
        "title: a\npages: 99999999999999999999\nidea: b"})
    check_refused("task: book", prompt);
}

CAF_TEST(an entry is made of sentences of the cards) {
  auto text = written("task: til\nmore",
                      "date: 2026-03-01\n"
                      "card: Cork is the bark of an oak. [tags: cork, oak]\n"
                      "card: Tide mills use the sea. [tags: mill]\n");
  CHECK_NE(text.find("Cork is the bark of an oak."), std::string::npos);
  CHECK_NE(text.find("Tide mills use the sea."), std::string::npos);
  CHECK_EQ(text.find("tags"), std::string::npos);
  CHECK_EQ(text.find("2026"), std::string::npos);
  CHECK_EQ(text.find("card:"), std::string::npos);
}

CAF_TEST(a recall is made of the earlier cards) {
  std::string prompt = "date: 2026-03-01\ncard: Tide mills use the sea.\n";
  CHECK_EQ(written("task: recall", prompt), "Tide mills use the sea.");
  prompt += "earlier: 2026-01-31: Cork is the bark of an oak. [tags: oak]\n";
  CHECK_EQ(written("task: recall\nmore", prompt),
           "Cork is the bark of an oak.");
}

CAF_TEST(requests without anything to write about) {
  for (auto prompt : {"", " \n\n", "date: 2026-03-01\n", "card: \xff\n"}) {
    check_refused("task: til", prompt);
    check_refused("task: recall", prompt);
  }
  check_refused("", "card: A text.");
  check_refused("task: essay", "card: A text.");
  check_refused("Write!\ntask: til", "card: A text.");
}

CAF_TEST(hostile and large cards) {
  for (auto line : {"a\0b. c\xc3"s, "\u202Eabc. def."s, "."s,
                    std::string(1'000'000, 'x'), "a. "s}) {
    std::string prompt;
    for (int i = 0; i < 50; ++i)
      prompt += "card: " + line + '\n';
    auto text = written("task: til", prompt);
    CHECK(!text::is_blank(text));
    CHECK_LE(text::code_points(text), 1'500u);
  }
}

CAF_TEST(a fired stop ends the work) {
  std::stop_source source;
  source.request_stop();
  for (auto task : {"task: book", "task: til"}) {
    auto got = write(task, "title: a\npages: 3\nidea: b", source.get_token());
    auto* err = std::get_if<provider_failure>(&got.result);
    REQUIRE(err != nullptr);
    CHECK(err->kind == run_outcome::cancelled);
  }
  CHECK(local_text{}.lane().name().empty());
}
