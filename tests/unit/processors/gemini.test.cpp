// tests/unit/processors/gemini.test.cpp -- generateContent and its faults, over
// real sockets.
#define CAF_SUITE processors.gemini

#include "processors/ai/gemini.hpp"

#include "processors/ai/picture_type.hpp"
#include "tests/unit/net/loopback_server.hpp"
#include "tests/unit/processors/provider_fixture.hpp"

using namespace reeve;
using namespace std::literals;

namespace {

constexpr auto down = run_outcome::provider_down;
constexpr auto none = lane_effect::none;

struct fixture : test::provider_fixture {
  provider_answer<image> draw(std::stop_token stop = {}) {
    image_request request{"A fox with " + std::string{test::secret_words}};
    return gemini{options}.draw(request, std::move(stop));
  }

  provider_failure fault(nlohmann::json x, run_outcome kind, lane_effect lane,
                         std::string_view part) {
    MESSAGE("fault: " << x.dump());
    x["api"] = "gemini";
    next(std::move(x));
    return expect_failure(draw(), kind, lane, part);
  }

  gemini_options options = options_for<gemini_options>("gemini-test");
};

} // namespace

CAF_TEST_FIXTURE_SCOPE(gemini_tests, fixture)

CAF_TEST(a picture and another one) {
  auto got = draw();
  REQUIRE(got.ok());
  auto& picture = std::get<image>(got.result);
  CHECK_EQ(picture.content_type, "image/png");
  CHECK_EQ(picture_type(picture.bytes), "image/png");
  CHECK(picture.bytes.ends_with("IEND\xae\x42\x60\x82"));
  CHECK_EQ(got.model, "gemini-test");
  CHECK_EQ(got.used.images, 1u);
  CHECK_EQ(got.used.output_tokens, 1'290u);
  CHECK_GT(got.used.input_tokens, 5u);
  auto again = draw();
  CHECK_NE(std::get<image>(again.result).bytes, picture.bytes);
  CHECK_EQ(gemini{options}.lane().name(), "gemini/gemini-test");
}

CAF_TEST(a name of a model is one segment of the path) {
  options.model = "models/gemini-test";
  CHECK(draw().ok());
  CHECK_EQ(gemini{options}.lane().name(), "gemini/gemini-test");
  options.model = "../files?x=";
  auto got = draw();
  CHECK(!got.ok() || got.model == "..%2Ffiles%3Fx%3D");
}

CAF_TEST(missing keys and permissions and models pause the lane) {
  auto pause = lane_effect::pause;
  fault({{"status", 401}}, down, pause, "refused our credentials");
  fault({{"status", 403}}, down, pause, "refused our credentials");
  fault({{"status", 400},
         {"type", "FAILED_PRECONDITION"},
         {"message", "User location is not supported for the API use."}},
        down, pause, "User location");
  options.model = "no-such-model";
  expect_failure(draw(), down, pause, "is not known there");
  // A wrong key is a bad request here.
  options.model = "gemini-test";
  options.api_key = "another-key-of-a-secret-kind";
  expect_failure(draw(), down, pause, "refused our credentials");
  options.api_key = "";
  expect_failure(draw(), down, pause, "refused our credentials");
}

CAF_TEST(exhausted quotas) {
  auto throttled = run_outcome::throttled;
  auto lane = lane_effect::throttle;
  auto err = fault({{"status", 429}, {"retry_delay", "36.5s"}}, throttled, lane,
                   "HTTP 429");
  CHECK(err.delay == 36'500ms);
  err = fault({{"status", 429}, {"headers", {{"Retry-After", "30"}}}},
              throttled, lane, "HTTP 429");
  CHECK(err.delay == 30s);
  // A quota of the day.
  err = fault({{"status", 429}, {"retry_delay", "37025.723541104s"}}, throttled,
              lane, "HTTP 429");
  CHECK(err.delay == 37'025'724ms);
  err = fault({{"status", 429}, {"retry_delay", "soon"}}, throttled, lane,
              "HTTP 429");
  CHECK(!err.delay);
  err =
    fault({{"status", 429}, {"body", "nonsense"}}, throttled, lane, "HTTP 429");
  CHECK(!err.delay);
}

CAF_TEST(outages) {
  auto outage = lane_effect::outage;
  for (auto code : {500, 503, 504})
    fault({{"status", code}}, down, outage, "HTTP " + std::to_string(code));
  fault({{"kind", "cut_stream"}, {"after", 0}}, down, outage, "cut off");
  fault({{"kind", "cut_stream"}, {"after", 500}}, down, outage, "cut off");
  options.idle_timeout = 300ms;
  fault({{"kind", "hang"}}, down, outage, "in time");
  options.url = "http://127.0.0.1:" + std::to_string(test::refusing_port());
  expect_failure(draw(), down, outage, "No connection");
}

CAF_TEST(an answer that ends with its connection may be cut) {
  std::string bytes;
  net::test::loopback_server peer{[&bytes](auto& x) { x.send(bytes); }};
  options.url = peer.url("");
  auto body = R"({"candidates":[{"content":{"parts":[{"inlineData":{"mime)"s;
  auto head = "HTTP/1.1 200 OK\r\nConnection: close\r\n"s;
  for (auto length : {size_t{0}, size_t{1}, body.size()}) {
    bytes = head + "\r\n" + body.substr(0, length);
    expect_failure(draw(), down, lane_effect::outage, "cut off");
  }
  bytes =
    head + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  expect_failure(draw(), run_outcome::failed, none, "JSON");
}

CAF_TEST(a wrong URL pauses the lane) {
  auto pause = lane_effect::pause;
  for (auto status : {301, 302, 307, 404, 405})
    fault({{"status", status}}, down, pause, "check the configured URL");
}

CAF_TEST(refusals are permanent) {
  auto permanent = run_outcome::failed_permanently;
  fault({{"kind", "refusal"}}, permanent, none, "IMAGE_SAFETY");
  fault({{"kind", "refusal"}, {"prompt", true}}, permanent, none,
        "PROHIBITED_CONTENT");
  fault({{"status", 400}, {"message", "what is this"}}, permanent, none,
        "what is this");
}

CAF_TEST(answers without a picture) {
  fault({{"kind", "empty_text"}}, run_outcome::failed, none, "has no picture");
  fault({{"kind", "max_tokens"}}, run_outcome::failed, none, "MAX_TOKENS");
  fault({{"kind", "wrong_json"}}, run_outcome::failed, none, "JSON");
  for (auto body :
       {"{}", "[]", "{\"candidates\":[]}", "{\"candidates\":[5]}",
        "{\"candidates\":[{\"content\":{\"parts\":[{\"inlineData\":5}]}}]}"})
    fault({{"status", 200}, {"body", body}}, run_outcome::failed, none,
          "The answer of");
}

CAF_TEST(bytes that are no picture are never taken) {
  for (auto bytes : {"svg", "html", "gif", "empty"})
    fault({{"kind", "wrong_image_type"}, {"bytes", bytes}}, run_outcome::failed,
          none, "no PNG, JPEG or WebP");
  fault({{"kind", "wrong_image_type"}, {"bytes", "jpeg"}}, run_outcome::failed,
        none, "another type");
  next({{"kind", "wrong_image_type"}});
  // It was paid for all the same.
  CHECK_EQ(draw().used.images, 1u);
  for (auto data : {"iVBORw0KGgo", "iVBORw0KGgoAAAANSUhEUg=", "%%%%", "a b="})
    fault({{"status", 200},
           {"body",
            {{"candidates",
              {{{"content",
                 {{"parts",
                   {{{"inlineData",
                      {{"mimeType", "image/png"}, {"data", data}}}}}}}}}}}}}},
          run_outcome::failed, none, "The answer of");
}

CAF_TEST(a stop ends the call within a second) {
  next({{"kind", "hang"}});
  std::stop_source source;
  test::clock_type::time_point stopped;
  {
    auto stopper = stop_when_waiting(source, stopped);
    expect_failure(draw(source.get_token()), run_outcome::cancelled, none,
                   "was stopped");
  }
  CHECK_LT(test::clock_type::now() - stopped, 1s);
}

CAF_TEST(signatures of pictures) {
  CHECK_EQ(picture_type("\x89PNG\r\n\x1a\n\0\0\0\rIHDR...."sv), "image/png");
  CHECK_EQ(picture_type("\xff\xd8\xff\xe0\0\x10JFIF"sv), "image/jpeg");
  CHECK_EQ(picture_type("RIFF\x24\0\0\0WEBPVP8 \x18\0\0\0"sv), "image/webp");
  for (auto bytes : {""sv, "\x89PNG"sv, "\x89PNG\r\n\x1a\n<svg onload=x>"sv,
                     "\xff\xd8\xff"sv, "RIFF\x24\0\0\0WAVEfmt "sv,
                     "RIFF\x24\0\0\0WEBP"sv, "GIF89a......"sv, "<svg/>"sv,
                     " \x89PNG\r\n\x1a\n\0\0\0\rIHDR"sv, "BM......"sv})
    CHECK_EQ(picture_type(bytes), "");
  CHECK(is_same_type("image/png", "image/png"));
  CHECK(is_same_type("IMAGE/JPG; q=1", "image/jpeg"));
  CHECK(!is_same_type("image/png", "image/webp"));
  CHECK(!is_same_type("", "image/png"));
}

CAF_TEST_FIXTURE_SCOPE_END()
