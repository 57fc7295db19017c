// tests/unit/persistence/embedding_index.test.cpp -- exact search, compared
// with the definition.
#define CAF_SUITE persistence.embedding_index

#include "persistence/embedding_index.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace reeve;

namespace {

using floats = std::vector<float>;

constexpr auto anyone = std::nullopt;
constexpr auto any_time = std::nullopt;

timestamp at(int64_t micros) {
  return timestamp{std::chrono::microseconds{micros}};
}

double cosine(const floats& a, const floats& b) {
  double product = 0, x = 0, y = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    product += double{a[i]} * b[i];
    x += double{a[i]} * a[i];
    y += double{b[i]} * b[i];
  }
  return x > 0 && y > 0 ? product / std::sqrt(x * y) : 0;
}

struct fixture {
  embedding_index index;

  std::vector<int64_t> seqs(const floats& wanted, uint32_t limit = 100) {
    std::vector<int64_t> result;
    for (const auto& hit : index.search(wanted, anyone, any_time, limit))
      result.push_back(hit.seq);
    return result;
  }

  void add(int64_t seq, const floats& embedding, int64_t created_at = 0) {
    index.add(seq, "card-" + std::to_string(seq), anyone, at(created_at),
              embedding);
  }
};

using list = std::vector<int64_t>;

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("an index without cards finds none") {
  CHECK(seqs({1, 0}).empty());
  CHECK(seqs({}).empty());
  add(1, {});
  CHECK(seqs({}).empty());
  CHECK_EQ(index.size(), 0u);
  CHECK_EQ(index.last_seq(), 1);
}

SCENARIO("the most similar card is first, whatever its length") {
  add(1, {0, 1});
  add(2, {-3, 0});
  add(3, {0.001f, 0.001f});
  add(4, {1e30f, 1e28f});
  CHECK_EQ(seqs({5, 0}), (list{4, 3, 1, 2}));
  CHECK_EQ(seqs({5, 0}, 2), (list{4, 3}));
  CHECK_EQ(seqs({5, 0}, 0), list{});
  auto hits = index.search({5, 0}, anyone, any_time, 4);
  REQUIRE_EQ(hits.size(), 4u);
  CHECK_EQ(hits[1].card_id, "card-3");
  CHECK_LT(std::abs(hits[1].similarity - std::sqrt(0.5)), 1e-6);
  CHECK_EQ(hits[2].similarity, 0.0);
  CHECK_EQ(hits[3].similarity, -1.0);
}

SCENARIO("of equals the older one is first") {
  add(7, {1, 2, 3}, 20);
  add(3, {2, 4, 6}, 30);
  add(5, {1, 2, 3}, 10);
  add(4, {1, 2, 3}, 20);
  CHECK_EQ(seqs({1, 2, 3}), (list{5, 4, 7, 3}));
  CHECK_EQ(seqs({1, 2, 3}, 2), (list{5, 4}));
}

SCENARIO("a vector without a direction resembles nothing") {
  add(1, {0, 0});
  add(2, {1, 0});
  add(3, {-1, 0});
  CHECK_EQ(seqs({1, 0}), (list{2, 1, 3}));
  auto hits = index.search({0, 0}, anyone, any_time, 9);
  REQUIRE_EQ(hits.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    CHECK_EQ(hits[i].seq, static_cast<int64_t>(i) + 1);
    CHECK_EQ(hits[i].similarity, 0.0);
  }
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& hit : index.search({nan, 1}, anyone, any_time, 9))
    CHECK_EQ(hit.similarity, 0.0);
}

SCENARIO("only cards with as many dimensions are compared") {
  add(1, {1, 0});
  add(2, {1, 0, 0});
  CHECK_EQ(seqs({1, 0}), list{1});
  CHECK_EQ(seqs({1, 0, 0}), list{2});
  CHECK_EQ(seqs({1}), list{});
}

SCENARIO("a search is limited to a user and a time") {
  auto put = [this](int64_t seq, std::optional<std::string> user) {
    index.add(seq, "card", user, at(seq), {1, 0});
  };
  put(1, "a");
  put(2, "b");
  put(3, anyone);
  put(4, "a");
  auto found = [this](std::optional<std::string> user,
                      std::optional<timestamp> before) {
    list result;
    for (const auto& hit : index.search({1, 0}, user, before, 9))
      result.push_back(hit.seq);
    return result;
  };
  CHECK_EQ(found(anyone, any_time), (list{1, 2, 3, 4}));
  CHECK_EQ(found("a", any_time), (list{1, 4}));
  CHECK_EQ(found("nobody", any_time), list{});
  CHECK_EQ(found("", any_time), list{});
  CHECK_EQ(found(anyone, at(3)), (list{1, 2}));
  CHECK_EQ(found("a", at(4)), list{1});
  CHECK_EQ(found("a", at(1)), list{});
}

SCENARIO("a card is added once and can be forgotten") {
  add(1, {1, 0});
  add(1, {0, 1});
  CHECK_EQ(index.size(), 1u);
  CHECK_EQ(index.search({1, 0}, anyone, any_time, 1)[0].similarity, 1.0);
  add(2, {0, 1});
  add(3, {1, 1});
  index.remove(1);
  index.remove(1);
  index.remove(99);
  CHECK_EQ(seqs({0, 1}), (list{2, 3}));
  index.remove(3);
  CHECK_EQ(seqs({0, 1}), list{2});
  // Its number is not given to another card.
  add(1, {1, 0});
  CHECK_EQ(seqs({0, 1}), list{2});
  CHECK_EQ(index.last_seq(), 3);
}

SCENARIO("every number of dimensions gives what the definition says") {
  std::mt19937 random{7};
  std::normal_distribution<float> value;
  for (size_t dimensions : {1, 2, 3, 15, 16, 17, 31, 33, 256, 1'000}) {
    embedding_index mine;
    auto any = [&] {
      floats result(dimensions);
      for (auto& x : result)
        x = value(random);
      return result;
    };
    std::vector<floats> cards;
    for (int64_t seq = 1; seq <= 40; ++seq) {
      cards.push_back(any());
      mine.add(seq, "card", anyone, at(seq), cards.back());
    }
    const auto wanted = any();
    const auto hits = mine.search(wanted, anyone, any_time, 100);
    REQUIRE_EQ(hits.size(), cards.size());
    for (const auto& hit : hits) {
      const auto& card = cards[static_cast<size_t>(hit.seq) - 1];
      CHECK_LT(std::abs(hit.similarity - cosine(card, wanted)), 1e-5);
    }
    CHECK(std::is_sorted(hits.begin(), hits.end(),
                         [](const auto& a, const auto& b) {
                           return a.similarity > b.similarity;
                         }));
  }
}

END_FIXTURE_SCOPE()
