// cli/table.hpp -- rows in columns, for people.
#pragma once

#include "cli/terminal.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace reeve {

struct column {
  std::string title;
  /// Numbers stand on the right.
  bool right = false;
  /// May be cut where lines are too long; ids may not, since they are copied.
  bool elastic = false;
};

struct cell {
  std::string text;
  tint colour = tint::none;
};

/// Aligned by what a terminal shows, whatever the texts: they are made
/// harmless.
class table {
public:
  explicit table(std::vector<column> columns);

  /// Missing cells are empty.
  void add(std::vector<cell> row);

  bool empty() const noexcept {
    return rows_.empty();
  }

  /// One line for the titles and one for each row, each ending in LF. Lines are
  /// no longer than `width` cells (0: no limit): elastic columns give way, the
  /// widest first, down to some cells; then the last columns are left out.
  std::string rendered(size_t width, bool colours) const;

private:
  /// Of the columns that are shown.
  std::vector<size_t> widths(size_t width) const;

  std::vector<column> columns_;
  std::vector<std::vector<cell>> rows_;
};

} // namespace reeve
