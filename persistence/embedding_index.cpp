// persistence/embedding_index.cpp -- a dot product for each card.
#include "persistence/embedding_index.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace reeve {

namespace {

// Four floats in one register of every 64-bit machine, so that the compiler
// needs no leave (-O3, -ffast-math) to work on them at once.
using lane = float __attribute__((vector_size(16)));

constexpr size_t lane_size = sizeof(lane) / sizeof(float);
// Independent sums, so that no addition waits for the one before it.
constexpr size_t lanes = 4;
constexpr size_t block = lanes * lane_size;

constexpr size_t padded(size_t dimensions) {
  return (dimensions + block - 1) / block * block;
}

// `size` is a multiple of `block`.
float dot(const float* a, const float* b, size_t size) {
  lane sums[lanes] = {};
  for (size_t i = 0; i < size; i += block) {
    for (size_t n = 0; n < lanes; ++n) {
      lane x, y;
      std::memcpy(&x, a + i + n * lane_size, sizeof(x));
      std::memcpy(&y, b + i + n * lane_size, sizeof(y));
      sums[n] += x * y;
    }
  }
  const auto sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// Appends `values` with length 1 to `rows`; zeros when they have no direction.
void append_normalized(std::vector<float>& rows,
                       const std::vector<float>& values) {
  double square = 0;
  for (const double x : values)
    square += x * x;
  const auto length = std::sqrt(square);
  const auto has_direction = length > 0 && std::isfinite(length);
  for (const double x : values)
    rows.push_back(has_direction ? static_cast<float>(x / length) : 0.0f);
  rows.resize(rows.size() + padded(values.size()) - values.size());
}

// Without a sign at zero.
double in_steps(double cosine) {
  return std::nearbyint(std::clamp(cosine, -1.0, 1.0) * 1e6) / 1e6 + 0.0;
}

struct scored {
  double similarity = 0;
  size_t index = 0;
};

} // namespace

uint32_t embedding_index::user_number(
  const std::optional<std::string>& user_id) {
  if (!user_id)
    return nobody;
  const auto next = static_cast<uint32_t>(users_.size() + 1);
  return users_.try_emplace(*user_id, next).first->second;
}

void embedding_index::add(int64_t seq, std::string card_id,
                          const std::optional<std::string>& user_id,
                          timestamp created_at,
                          const std::vector<float>& embedding) {
  if (!known_.insert(seq).second)
    return;
  last_seq_ = std::max(last_seq_, seq);
  if (embedding.empty())
    return;
  auto& where = groups_[embedding.size()];
  where.entries.push_back(
    {seq, created_at, user_number(user_id), std::move(card_id)});
  append_normalized(where.rows, embedding);
}

void embedding_index::remove(int64_t seq) {
  for (auto& [dimensions, where] : groups_) {
    auto& entries = where.entries;
    const auto i = std::find_if(entries.begin(), entries.end(),
                                [&](const entry& x) { return x.seq == seq; });
    if (i == entries.end())
      continue;
    // The last one takes its place: no order is kept.
    const auto size = padded(dimensions);
    const auto row = static_cast<size_t>(i - entries.begin()) * size;
    std::copy(where.rows.end() - static_cast<std::ptrdiff_t>(size),
              where.rows.end(),
              where.rows.begin() + static_cast<std::ptrdiff_t>(row));
    where.rows.resize(where.rows.size() - size);
    if (&*i != &entries.back())
      *i = std::move(entries.back());
    entries.pop_back();
    return;
  }
}

std::vector<embedding_index::hit> embedding_index::search(
  const std::vector<float>& embedding,
  const std::optional<std::string>& user_id, std::optional<timestamp> before,
  uint32_t limit) const {
  const auto i = groups_.find(embedding.size());
  if (i == groups_.end())
    return {};
  auto user = nobody;
  if (user_id) {
    const auto known = users_.find(*user_id);
    if (known == users_.end())
      return {};
    user = known->second;
  }
  const auto& [entries, rows] = i->second;
  const auto size = padded(embedding.size());
  std::vector<float> wanted;
  append_normalized(wanted, embedding);
  std::vector<scored> found;
  found.reserve(entries.size());
  for (size_t n = 0; n < entries.size(); ++n) {
    const auto& x = entries[n];
    if ((user_id && x.user != user) || (before && x.created_at >= *before))
      continue;
    const double cosine = dot(rows.data() + n * size, wanted.data(), size);
    found.push_back({in_steps(cosine), n});
  }
  const auto count = std::min(found.size(), size_t{limit});
  auto goes_first = [&](const scored& a, const scored& b) {
    if (a.similarity != b.similarity)
      return a.similarity > b.similarity;
    const auto &x = entries[a.index], &y = entries[b.index];
    return std::pair{x.created_at, x.seq} < std::pair{y.created_at, y.seq};
  };
  std::partial_sort(found.begin(),
                    found.begin() + static_cast<std::ptrdiff_t>(count),
                    found.end(), goes_first);
  std::vector<hit> result;
  for (size_t n = 0; n < count; ++n) {
    const auto& x = entries[found[n].index];
    result.push_back({x.seq, x.card_id, found[n].similarity});
  }
  return result;
}

size_t embedding_index::size() const {
  size_t result = 0;
  for (const auto& [dimensions, where] : groups_)
    result += where.entries.size();
  return result;
}

} // namespace reeve
