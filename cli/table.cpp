// cli/table.cpp -- rows in columns, for people.
#include "cli/table.hpp"

#include "cli/cells.hpp"

#include <algorithm>
#include <numeric>

namespace reeve {

namespace {

constexpr size_t gap = 2;

/// A column that gives way keeps this much.
constexpr size_t least_width = 8;

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
  auto total = std::accumulate(result.begin(), result.end(), size_t{0})
    + gap * (columns_.size() - 1);
  while (total > width) {
    size_t widest = columns_.size();
    for (size_t i = 0; i < columns_.size(); ++i)
      if (columns_[i].elastic && result[i] > least_width
          && (widest == columns_.size() || result[i] > result[widest]))
        widest = i;
    if (widest == columns_.size())
      break;
    --result[widest];
    --total;
  }
  return result;
}

std::string table::rendered(size_t width, bool colours) const {
  auto each = widths(width);
  std::string result;
  auto line = [&](auto text_of, auto tint_of) {
    std::string out;
    size_t used = 0;
    for (size_t i = 0; i < columns_.size(); ++i) {
      auto room = each[i];
      auto space = i == 0 ? 0 : gap;
      if (width > 0 && used + space >= width)
        break;
      if (width > 0)
        room = std::min(room, width - used - space);
      auto text = fitted(text_of(i), room, columns_[i].right);
      // Nothing stands behind the last one.
      if (i + 1 == columns_.size() && !columns_[i].right)
        text.erase(text.find_last_not_of(' ') + 1);
      out += std::string(space, ' ') + painted(text, tint_of(i), colours);
      used += space + room;
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
