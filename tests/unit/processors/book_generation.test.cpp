// tests/unit/processors/book_generation.test.cpp -- books, and what is paid for
// them when nodes die.
#define CAF_SUITE processors.book_generation

#include "processors/book_generation.hpp"

#include "persistence/digest.hpp"
#include "tests/unit/processors/fake_context.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <stdexcept>

using namespace reeve;
using namespace std::literals;

namespace {

constexpr int page_count = 5;

std::string book_json(int pages) {
  auto list = nlohmann::json::array();
  for (int i = 1; i <= pages; ++i)
    list.push_back({{"text", "Text " + std::to_string(i)},
                    {"image_prompt", "Picture " + std::to_string(i)}});
  return nlohmann::json{{"pages", list}}.dump();
}

struct fixture {
  fixture()
    : context("BOOK_GENERATION", "content-1"),
      text(std::make_shared<test::fake_text_model>()),
      images(std::make_shared<test::fake_image_model>()),
      uut(text, images) {
    context.job_.payload = {
      {"title", "The fox"}, {"prompt", "A fox."}, {"pages", page_count}};
    content book;
    book.id = "content-1";
    book.user_id = "user-1";
    book.page_count = page_count;
    context.contents["content-1"] = book;
    writes(book_json(page_count));
  }

  void writes(std::variant<std::string, provider_failure> x) {
    text->says = [x](const text_request&, std::stop_token) { return x; };
  }

  // Draws all pictures but one, which fails as long as the test wants.
  void fails_at_picture(size_t number, provider_failure failure) {
    images->says =
      [this, number,
       failure](const image_request&) -> std::variant<image, provider_failure> {
      if (images->requests.size() == number)
        return failure;
      return image{"image/png", "picture"};
    };
  }

  void check_complete(const outcome& got) {
    REQUIRE(got.kind == run_outcome::completed);
    CHECK(got.result
          == nlohmann::json({{"content_id", "content-1"},
                             {"pages", page_count},
                             {"text_model", "prose-1-20260101"},
                             {"image_model", "brush-1"}}));
    CHECK_EQ(context.step_names(),
             (std::vector<std::string>{"text", "image-1", "image-2", "image-3",
                                       "image-4", "image-5"}));
    const auto& pages = context.contents["content-1"].pages;
    REQUIRE_EQ(pages.size(), size_t{page_count});
    for (const auto& page : pages) {
      CHECK_EQ(page.text, "Text " + std::to_string(page.number));
      CHECK(page.image.has_value());
    }
    CHECK_EQ(context.images.size(), size_t{page_count});
  }

  test::fake_context context;
  std::shared_ptr<test::fake_text_model> text;
  std::shared_ptr<test::fake_image_model> images;
  book_generation uut;
};

} // namespace

CAF_TEST_FIXTURE_SCOPE(book_generation_tests, fixture)

CAF_TEST(a vanished book fails for good with the agreed text) {
  context.contents.clear();
  auto got = context.run(uut);
  CHECK(got.kind == run_outcome::failed_permanently);
  CHECK_EQ(got.message, "Target data not found (Already deleted)");
  CHECK(text->requests.empty());
}

CAF_TEST(somebody elses book is as good as gone) {
  context.contents["content-1"].user_id = "user-2";
  auto got = context.run(uut);
  CHECK(got.kind == run_outcome::failed_permanently);
  CHECK_EQ(got.message, std::string{target_gone_message});
  CHECK(text->requests.empty());
}

CAF_TEST(a payload that is none calls nobody) {
  auto payload = context.job_.payload.value();
  payload["pages"] = 0;
  context.job_.payload = payload;
  auto got = context.run(uut);
  CHECK(got.kind == run_outcome::failed_permanently);
  CHECK_NE(got.message.find("pages"), std::string::npos);
  context.job_.payload = {};
  CHECK(context.run(uut).kind == run_outcome::failed_permanently);
  CHECK(text->requests.empty());
  CHECK(context.look_ups.empty());
}

CAF_TEST(a book is written and drawn page by page) {
  check_complete(context.run(uut));
  REQUIRE_EQ(text->requests.size(), 1u);
  CHECK_NE(text->requests.front().prompt.find("idea: A fox.\n"),
           std::string::npos);
  REQUIRE_EQ(images->requests.size(), size_t{page_count});
  CHECK(images->requests[2].prompt.starts_with("Picture 3\n"));
  CHECK_EQ(context.open_permits, 0);
  CHECK_EQ(context.acquired.size(), 6u);
  CHECK_EQ(context.acquired.front().first, "prose/prose-1");
  CHECK_EQ(context.acquired.back().first, "brush/brush-1");
}

CAF_TEST(pictures are kept as they came and only described in the result) {
  context.run(uut);
  const auto& kept = context.images.at(2);
  CHECK_EQ(*kept.data, "\x89PNG 2");
  CHECK_EQ(kept.info.content_type, "image/png");
  CHECK_EQ(kept.info.bytes, kept.data->size());
  CHECK_EQ(kept.info.digest, sha256_hex(*kept.data));
  CHECK_EQ(kept.info.model, "brush-1-20260101");
  CHECK(context.steps.at(2).step.result
        == nlohmann::json({{"content_type", "image/png"},
                           {"bytes", kept.data->size()},
                           {"digest", kept.info.digest}}));
  CHECK_EQ(context.steps.at(2).step.used.images, 1u);
  CHECK_EQ(context.steps.at(2).step.provider, "brush");
}

CAF_TEST(progress moves while the text is written and after every page) {
  context.run(uut);
  auto last = -1;
  for (const auto& [percent, message] : context.reports) {
    MESSAGE(message << ": " << percent);
    CHECK(percent >= last);
    CHECK(percent <= 99);
    last = percent;
  }
  using report = test::fake_context::report;
  auto said = [this](const report& x) {
    return std::find(context.reports.begin(), context.reports.end(), x)
      != context.reports.end();
  };
  CHECK(said({5, "writing the text"}));
  CHECK(said({11, "writing page 1 of 5"}));
  CHECK(said({35, "writing page 5 of 5"}));
  CHECK(said({35, "text written"}));
  CHECK(said({73, "page 3 of 5 drawn"}));
  CHECK(said({99, "page 5 of 5 drawn"}));
}

CAF_TEST(a text that never ends its pages keeps progress in its range) {
  writes(book_json(20));
  auto got = context.run(uut);
  CHECK(got.kind == run_outcome::failed);
  for (const auto& [percent, message] : context.reports)
    CHECK(percent <= 35);
}

CAF_TEST(a text of no use is a failure and leaves only its price) {
  for (const auto& bad :
       {"no JSON"s, book_json(4), "\xFF"s, R"({"pages":[1,2,3,4,5]})"s}) {
    writes(bad);
    auto got = context.run(uut);
    CHECK(got.kind == run_outcome::failed);
    CHECK(got.message.starts_with("The text "));
  }
  CHECK_EQ(context.step_names(), std::vector<std::string>(4, "text (failed)"));
  for (const auto& x : context.steps) {
    CHECK_EQ(x.step.used, (usage{100, 200, 0}));
    CHECK_EQ(x.step.provider, "prose");
    CHECK_EQ(x.step.model, "prose-1-20260101");
  }
  CHECK(context.contents["content-1"].pages.empty());
  CHECK(images->requests.empty());
  // It was paid for all the same, and the lane knows.
  REQUIRE_EQ(context.calls.size(), 4u);
  CHECK_EQ(context.calls.back().used.output_tokens, 200u);
}

CAF_TEST(a failure at page 4 pays neither text nor pages again) {
  fails_at_picture(
    4, {run_outcome::provider_down, "HTTP 503", 30s, lane_effect::outage});
  auto got = context.run(uut);
  CHECK(got.kind == run_outcome::provider_down);
  CHECK_EQ(got.message, "HTTP 503");
  CHECK(got.delay == 30s);
  CHECK(context.calls.back().effect == lane_effect::outage);
  CHECK_EQ(context.step_names(),
           (std::vector<std::string>{"text", "image-1", "image-2", "image-3"}));
  check_complete(context.run(uut));
  CHECK_EQ(text->requests.size(), 1u);
  CHECK_EQ(images->requests.size(), 6u); // page 4 twice: once in vain
}

CAF_TEST(a node that dies at any step pays for nothing twice) {
  for (size_t step = 1; step <= page_count + 1; ++step) {
    MESSAGE("dies after step " << step);
    fixture fresh;
    fresh.context.run_and_die_after(fresh.uut, step);
    REQUIRE_EQ(fresh.context.steps.size(), step);
    fresh.check_complete(fresh.context.run(fresh.uut));
    CHECK_EQ(fresh.text->requests.size(), 1u);
    CHECK_EQ(fresh.images->requests.size(), size_t{page_count});
  }
}

CAF_TEST(a node that dies after every step gets there in the end) {
  for (int i = 0; i < page_count + 1; ++i)
    context.run_and_die_after(uut, 1);
  check_complete(context.run(uut));
  CHECK_EQ(context.job_.run, page_count + 2);
  CHECK_EQ(text->requests.size(), 1u);
  CHECK_EQ(images->requests.size(), size_t{page_count});
}

CAF_TEST(a finished book calls nobody) {
  context.run(uut);
  context.lane_closed = outcome::provider_down("parked");
  check_complete(context.run(uut));
}

CAF_TEST(a stop between two pages ends the run with what is there) {
  context.before_commit = [this](const job_step& step) {
    if (step.name == "image-2")
      context.source.request_stop();
  };
  CHECK(context.run(uut).kind == run_outcome::cancelled);
  // What was paid for is kept.
  CHECK_EQ(context.step_names(),
           (std::vector<std::string>{"text", "image-1", "image-2"}));
  CHECK_EQ(images->requests.size(), 2u);
}

CAF_TEST(a stop while the text is written reaches the model) {
  text->says = [this](const text_request&, std::stop_token stop)
    -> std::variant<std::string, provider_failure> {
    context.source.request_stop();
    if (stop.stop_requested())
      return provider_failure{run_outcome::cancelled, "stopped", {}, {}};
    return book_json(page_count);
  };
  CHECK(context.run(uut).kind == run_outcome::cancelled);
  CHECK_EQ(context.step_names(), std::vector<std::string>{"text (failed)"});
}

CAF_TEST(a book deleted while it is made fails for good) {
  context.before_commit = [this](const job_step& step) {
    if (step.name == "image-3")
      context.contents.clear();
  };
  auto got = context.run(uut);
  CHECK(got.kind == run_outcome::failed_permanently);
  CHECK_EQ(got.message, std::string{target_gone_message});
  CHECK_EQ(images->requests.size(), 3u);
  // The third picture has its price though nobody keeps it.
  CHECK_EQ(context.step_names(),
           (std::vector<std::string>{"text", "image-1", "image-2",
                                     "image-3 (failed)"}));
  CHECK_EQ(context.steps.back().step.used.images, 1u);
  CHECK(context.steps.back().effects.empty());
}

CAF_TEST(the lanes are those that are called) {
  CHECK_EQ(uut.lanes(),
           (std::vector<std::string>{"prose/prose-1", "brush/brush-1"}));
  text->key = {"local", "skeleton"};
  CHECK_EQ(uut.lanes(), (std::vector<std::string>{"brush/brush-1"}));
  images->key = {"local", "svg"};
  CHECK(uut.lanes().empty());
  check_complete([&] {
    auto got = context.run(uut);
    got.result["image_model"] = "brush-1";
    return got;
  }());
  CHECK(context.acquired.empty());
}

CAF_TEST(there are no books without models) {
  CHECK_THROWS_AS(book_generation(nullptr, images), std::invalid_argument);
  CHECK_THROWS_AS(book_generation(text, nullptr), std::invalid_argument);
}

CAF_TEST_FIXTURE_SCOPE_END()
