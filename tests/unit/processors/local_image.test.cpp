// tests/unit/processors/local_image.test.cpp -- pictures without a model.
#define CAF_SUITE processors.local_image

#include "processors/ai/local_image.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <set>

using namespace reeve;
using namespace std::literals;

namespace {

std::string drawn(std::string prompt) {
  auto got = local_image{}.draw({std::move(prompt)}, {});
  if (auto* err = std::get_if<provider_failure>(&got.result))
    CAF_FAIL("no picture: " << err->message);
  auto& picture = std::get<image>(got.result);
  CHECK_EQ(picture.content_type, "image/svg+xml");
  CHECK_EQ(got.used, usage{});
  CHECK_EQ(got.model, "local-shapes-1");
  return picture.bytes;
}

} // namespace

CAF_TEST(the same prompt has the same picture and another one another) {
  auto a = drawn("A fox in the snow");
  CHECK_EQ(a, drawn("A fox in the snow"));
  std::set<std::string> all;
  for (int i = 0; i < 200; ++i) {
    auto picture = drawn("A fox on page " + std::to_string(i));
    // Not the title alone is another one.
    all.insert(picture.substr(picture.find("</title>")));
  }
  CHECK_EQ(all.size(), 200u);
  CHECK(a.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  CHECK(a.ends_with("</svg>\n"));
}

CAF_TEST(a prompt is never markup) {
  for (auto nasty : {"</title><script>alert(1)</script>"s,
                     "\"><image href=\"http://example.org/\"/>"s,
                     "<!ENTITY x SYSTEM \"file:///etc/passwd\">&x;"s,
                     "]]><style>@import 'x'</style>"s, "' onload='alert(1)"s,
                     "a\0b\x01\x1b\xff\uFFFE\uFFFF"s,
                     std::string(1'000'000, '<'), "\u202E&amp;"s}) {
    auto picture = drawn(nasty);
    auto start = picture.find("<title>") + "<title>"sv.size();
    auto title = picture.substr(start, picture.find("</title>") - start);
    auto rest = picture.substr(start + title.size());
    for (auto c : {'<', '>', '"', '\'', '\0', '\x01', '\x1b'})
      CHECK_EQ(title.find(c), std::string::npos);
    CHECK_EQ(title.find("\uFFFE"), std::string::npos);
    for (auto part : {"script", "href", "style", "onload", "ENTITY", "import",
                      "url(", "data:"})
      CHECK_EQ(rest.find(part), std::string::npos);
    CHECK_LT(picture.size(), 32u * 1024);
  }
  CHECK_NE(drawn("salt & pepper").find("<title>salt &amp; pepper</title>"),
           std::string::npos);
}

CAF_TEST(nothing to draw) {
  for (auto blank : {""s, " \n"s, "\0"s, "\u200b"s}) {
    auto got = local_image{}.draw({blank}, {});
    auto* err = std::get_if<provider_failure>(&got.result);
    REQUIRE(err != nullptr);
    CHECK(err->kind == run_outcome::failed_permanently);
  }
  std::stop_source source;
  source.request_stop();
  auto got = local_image{}.draw({"A fox"}, source.get_token());
  auto* err = std::get_if<provider_failure>(&got.result);
  REQUIRE(err != nullptr);
  CHECK(err->kind == run_outcome::cancelled);
  CHECK(local_image{}.lane().name().empty());
}
