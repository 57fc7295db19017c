// cli/table.cpp -- rows in columns, for people.
#include "cli/table.hpp"

#include "cli/cells.hpp"

#include <algorithm>

namespace reeve {

namespace {

constexpr size_t gap = 2;

/// A column that gives way keeps this much.
constexpr size_t least_width = 10;

} // namespace

table::table(std::vector<column> columns) : columns_(std::move(columns)) {
  // nop
}

void table::add(std::vector<cell> row) {
  for (auto& x : row)
    x.text = harmless(x.text);
  row.resize(columns_.size());
  rows_.push_back(std::move(row));
}

std::vector<size_t> table::widths(size_t width) const {
  std::vector<size_t> result;
  for (size_t i = 0; i < columns_.size(); ++i) {
    auto most = cells(columns_[i].title);
    for (const auto& row : rows_)
      most = std::max(most, cells(row[i].text));
    result.push_back(most);
  }
  if (width == 0)
    return result;
  auto least = [&](size_t i) {
    return columns_[i].elastic ? std::min(result[i], least_width) : result[i];
  };
  auto total = [&](auto width_of) {
    size_t sum = gap * (result.size() - 1);
    for (size_t i = 0; i < result.size(); ++i)
      sum += width_of(i);
    return sum;
  };
  // Better fewer columns that can be read than all and none of them.
  while (result.size() > 1 && total(least) > width)
    result.pop_back();
  auto used = total([&](size_t i) { return result[i]; });
  while (used > width) {
    auto widest = result.size();
    for (size_t i = 0; i < result.size(); ++i)
      if (result[i] > least(i)
          && (widest == result.size() || result[i] > result[widest]))
        widest = i;
    if (widest == result.size())
      break;
    --result[widest];
    --used;
  }
  // The only one that is left may be too long.
  result.front() = std::min(result.front(), width);
  return result;
}

std::string table::rendered(size_t width, bool colours) const {
  auto each = widths(width);
  std::string result;
  auto line = [&](auto text_of, auto tint_of) {
    std::string out;
    for (size_t i = 0; i < each.size(); ++i) {
      auto text = fitted(text_of(i), each[i], columns_[i].right);
      // Nothing stands behind the last one.
      if (i + 1 == each.size())
        text.erase(text.find_last_not_of(' ') + 1);
      out +=
        std::string(i == 0 ? 0 : gap, ' ') + painted(text, tint_of(i), colours);
    }
    if (!colours)
      out.erase(out.find_last_not_of(' ') + 1);
    result += out + '\n';
  };
  line([&](size_t i) { return columns_[i].title; },
       [](size_t) { return tint::bold; });
  for (const auto& row : rows_)
    line([&](size_t i) { return row[i].text; },
         [&](size_t i) { return row[i].colour; });
  return result;
}

} // namespace reeve
