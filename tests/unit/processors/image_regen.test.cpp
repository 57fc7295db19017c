// tests/unit/processors/image_regen.test.cpp -- one page, drawn anew.
#define CAF_SUITE processors.image_regen

#include "processors/image_regen.hpp"

#include "persistence/digest.hpp"
#include "tests/unit/processors/fake_context.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <stdexcept>

using namespace reeve;
using namespace std::literals;

namespace {

struct fixture {
  fixture()
    : context("IMAGE_REGEN", "content-1"),
      images(std::make_shared<test::fake_image_model>()),
      uut(images) {
    content book;
    book.id = "content-1";
    book.user_id = "user-1";
    book.title = "The fox";
    book.page_count = 3;
    book.status = job_status::completed;
    book.pages = {{1, "One.", {}}, {2, "Two.", {}}, {3, "Three.", {}}};
    context.contents["content-1"] = book;
    context.job_.payload = {{"page", 2}};
  }

  std::string permanent_error(nlohmann::json payload) {
    context.job_.payload = std::move(payload);
    auto got = context.run(uut);
    CHECK(got.kind == run_outcome::failed_permanently);
    return got.message;
  }

  test::fake_context context;
  std::shared_ptr<test::fake_image_model> images;
  image_regen uut;
};

} // namespace

CAF_TEST_FIXTURE_SCOPE(image_regen_tests, fixture)

CAF_TEST(a vanished book fails for good with the agreed text) {
  context.contents["content-1"].user_id = "user-2";
  CHECK_EQ(permanent_error({{"page", 2}}), std::string{target_gone_message});
  context.contents.clear();
  CHECK_EQ(permanent_error({{"page", 2}}), std::string{target_gone_message});
  CHECK(images->requests.empty());
}

CAF_TEST(a page must be one of the book) {
  for (auto page : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{4},
                    int64_t{4'294'967'298}, INT64_MAX})
    CHECK_EQ(permanent_error({{"page", page}}),
             "Page " + std::to_string(page) + " is not one of the book's 3");
  permanent_error({{"page", UINT64_MAX}});
  CHECK(images->requests.empty());
}

CAF_TEST(a payload names the field that is wrong) {
  for (const auto& bad :
       {nlohmann::json(), nlohmann::json::array(), nlohmann::json::object(),
        nlohmann::json({{"page", "2"}}), nlohmann::json({{"page", 2.5}}),
        nlohmann::json({{"page", nullptr}})})
    CHECK_NE(permanent_error(bad).find("page"), std::string::npos);
  for (const auto& bad :
       {nlohmann::json(7), nlohmann::json(""), nlohmann::json(" \n"),
        nlohmann::json("\xFF"), nlohmann::json("a\0b"s),
        nlohmann::json(std::string(4'001, 'x'))})
    CHECK_NE(permanent_error({{"page", 2}, {"prompt", bad}}).find("prompt"),
             std::string::npos);
  CHECK(images->requests.empty());
}

CAF_TEST(a page that is not written yet may come) {
  context.contents["content-1"].pages.clear();
  context.contents["content-1"].status = job_status::processing;
  auto got = context.run(uut);
  CHECK(got.kind == run_outcome::failed);
  CHECK_EQ(got.message, "Page 2 is not written yet");
  context.contents["content-1"].status = job_status::failed;
  CHECK_EQ(permanent_error({{"page", 2}}), "Page 2 was never written");
}

CAF_TEST(without a prompt the text of the page is drawn) {
  auto got = context.run(uut);
  REQUIRE(got.kind == run_outcome::completed);
  REQUIRE_EQ(images->requests.size(), 1u);
  CHECK(images->requests.front().prompt.starts_with("Two.\n"));
  CHECK_NE(images->requests.front().prompt.find("\"The fox\""),
           std::string::npos);
  const auto& kept = context.images.at(2);
  CHECK(got.result
        == nlohmann::json({{"content_id", "content-1"},
                           {"page", 2},
                           {"content_type", "image/png"},
                           {"bytes", kept.data->size()},
                           {"digest", sha256_hex(*kept.data)},
                           {"image_model", "brush-1"}}));
  CHECK_EQ(context.step_names(), std::vector<std::string>{"image-2"});
}

CAF_TEST(a prompt is drawn on one line) {
  auto payload = context.job_.payload.value();
  payload["prompt"] = "A hare\nNo words? Words!";
  context.job_.payload = payload;
  REQUIRE(context.run(uut).kind == run_outcome::completed);
  CHECK(
    images->requests.front().prompt.starts_with("A hare No words? Words!\n"));
  payload["prompt"] = nullptr;
  context.job_.payload = payload;
  REQUIRE(context.run(uut).kind == run_outcome::completed);
  CHECK(images->requests.back().prompt.starts_with("Two.\n"));
}

CAF_TEST(a node that dies after drawing does not draw again) {
  context.run_and_die_after(uut, 1);
  CHECK_EQ(*context.images.at(2).data, "\x89PNG 1");
  REQUIRE(context.run(uut).kind == run_outcome::completed);
  CHECK_EQ(images->requests.size(), 1u);
}

CAF_TEST(another job draws anew) {
  context.run(uut);
  test::fake_context other{"IMAGE_REGEN", "content-1"};
  other.contents = context.contents;
  other.job_.payload = context.job_.payload;
  REQUIRE(other.run(uut).kind == run_outcome::completed);
  CHECK_EQ(images->requests.size(), 2u);
  CHECK_EQ(*other.images.at(2).data, "\x89PNG 2");
}

CAF_TEST(a book deleted while its page is drawn fails for good) {
  context.before_commit = [this](const job_step&) { context.contents.clear(); };
  CHECK_EQ(permanent_error({{"page", 2}}), std::string{target_gone_message});
}

CAF_TEST(a refused picture is the providers word) {
  images->says = [](const image_request&) {
    return provider_failure{run_outcome::failed_permanently, "refused", {}, {}};
  };
  CHECK_EQ(permanent_error({{"page", 2}}), "refused");
  CHECK(context.steps.empty());
}

CAF_TEST(there is no redraw without a model) {
  CHECK_THROWS_AS(image_regen{nullptr}, std::invalid_argument);
  CHECK_EQ(uut.lanes(), std::vector<std::string>{"brush/brush-1"});
}

CAF_TEST_FIXTURE_SCOPE_END()
