// tests/unit/processors/registry.test.cpp -- names of job types.
#define CAF_SUITE processors.registry

#include "processors/registry.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <stdexcept>

using namespace reeve;

namespace {

class no_op final : public processor {
public:
  outcome run(job_context&) override {
    return outcome::completed(nullptr);
  }
};

} // namespace

CAF_TEST(type names have a small alphabet and a limit) {
  CHECK(is_type_name("CARD_ANALYSIS"));
  CHECK(is_type_name("a"));
  CHECK(is_type_name("mail.send-v2"));
  CHECK(is_type_name(std::string(100, 'x')));
  CHECK(!is_type_name(""));
  CHECK(!is_type_name(std::string(101, 'x')));
  for (std::string_view bad :
       {"two words", "a/b", "a\n", "caf\u00e9", "\ud55c\uc9c0", "a%", "a:b"})
    CHECK(!is_type_name(bad));
  CHECK(!is_type_name(std::string_view{"a\0b", 3}));
}

CAF_TEST(a processor is found by the exact name) {
  processor_registry uut;
  CHECK(uut.find("A") == nullptr);
  auto a = std::make_shared<no_op>();
  auto b = std::make_shared<no_op>();
  uut.add("B", b);
  uut.add("A", a);
  CHECK(uut.find("A") == a);
  CHECK(uut.find("B") == b);
  CHECK(uut.find("a") == nullptr);
  CHECK(uut.find("") == nullptr);
  CHECK_EQ(uut.names(), (std::vector<std::string>{"A", "B"}));
}

CAF_TEST(what would make jobs run into nothing is refused) {
  processor_registry uut;
  auto x = std::make_shared<no_op>();
  CHECK_THROWS_AS(uut.add("no name", x), std::invalid_argument);
  CHECK_THROWS_AS(uut.add("A", nullptr), std::invalid_argument);
  CHECK(uut.names().empty());
  uut.add("A", x);
  CHECK_THROWS_AS(uut.add("A", std::make_shared<no_op>()),
                  std::invalid_argument);
  CHECK(uut.find("A") == x);
}

CAF_TEST(outcomes say what they were made for) {
  using namespace std::chrono_literals;
  CHECK(outcome::completed(7).kind == run_outcome::completed);
  CHECK_EQ(outcome::completed(7).result.get<int>(), 7);
  CHECK(outcome::failed("x").kind == run_outcome::failed);
  CHECK_EQ(outcome::failed("x").message, "x");
  CHECK(outcome::failed_permanently("x").kind
        == run_outcome::failed_permanently);
  CHECK(outcome::throttled("x", 5s).kind == run_outcome::throttled);
  CHECK(outcome::throttled("x", 5s).delay == 5s);
  CHECK(!outcome::throttled("x").delay);
  CHECK(outcome::provider_down("x", 5s).kind == run_outcome::provider_down);
  CHECK(outcome::provider_down("x", 5s).delay == 5s);
  CHECK(outcome::snoozed(5s).kind == run_outcome::snoozed);
  CHECK(outcome::snoozed(5s).delay == 5s);
  CHECK(outcome::cancelled().kind == run_outcome::cancelled);
}
