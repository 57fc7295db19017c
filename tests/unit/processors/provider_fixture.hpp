// tests/unit/processors/provider_fixture.hpp -- what the tests of providers
// over real sockets share.
#pragma once

#include "processors/ai/provider.hpp"
#include "processors/ai/remote.hpp"
#include "processors/text/plain_text.hpp"
#include "tests/unit/processors/fake_server.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <thread>

namespace reeve::test {

using clock_type = std::chrono::steady_clock;

/// What nobody must find in a message; every request has it in its prompt.
inline constexpr std::string_view secret_words = "the secret plans of a user";

struct provider_fixture {
  // One server for all tests: starting Python takes longer than they do.
  static fake_server& server() {
    static fake_server instance;
    return instance;
  }

  template <class Options>
  static Options options_for(std::string model) {
    using namespace std::literals;
    Options result;
    result.url = server().url();
    result.api_key = "fake-key";
    result.model = std::move(model);
    result.connect_timeout = 5s;
    result.idle_timeout = 10s;
    result.total_timeout = 20s;
    return result;
  }

  provider_fixture() {
    server().set_faults(nlohmann::json::array());
  }

  /// Whoever is called next meets `fault`.
  static void next(nlohmann::json fault) {
    server().set_faults(nlohmann::json::array({std::move(fault)}));
  }

  /// A failure of that kind and effect, whose message has `part`, names the
  /// model and keeps what it must to itself.
  template <class T>
  static provider_failure expect_failure(const provider_answer<T>& got,
                                         run_outcome kind, lane_effect lane,
                                         std::string_view part) {
    auto* err = std::get_if<provider_failure>(&got.result);
    if (err == nullptr)
      CAF_FAIL("an answer instead of a failure: " << std::string{part});
    MESSAGE("message: " << err->message);
    CHECK_EQ(std::string{to_string(err->kind)}, std::string{to_string(kind)});
    CHECK_EQ(static_cast<int>(err->lane), static_cast<int>(lane));
    CHECK_NE(err->message.find(part), std::string::npos);
    CHECK_NE(err->message.find("model "), std::string::npos);
    CHECK_EQ(err->message.find('\n'), std::string::npos);
    CHECK_EQ(err->message.find("fake-key"), std::string::npos);
    CHECK_EQ(err->message.find("secret"), std::string::npos);
    CHECK_LE(text::code_points(err->message), 500u);
    return *err;
  }

  /// Fires `source` once the newest call is waiting for its answer, and says
  /// when that was.
  static std::jthread stop_when_waiting(std::stop_source& source,
                                        clock_type::time_point& when) {
    return std::jthread{
      [&source, &when, before = server().provider_calls().size()] {
        auto is_waiting = [before] {
          auto calls = server().provider_calls();
          return calls.size() > before && calls.back()["ended"].is_null();
        };
        while (!is_waiting())
          std::this_thread::yield();
        when = clock_type::now();
        source.request_stop();
      }};
  }
};

} // namespace reeve::test
