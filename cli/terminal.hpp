// cli/terminal.hpp -- what the output of a command goes to.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace reeve {

/// What a colour says.
enum class tint : unsigned char { none, good, bad, busy, faint, bold };

/// Where a command writes.
struct terminal {
  bool is_terminal = false;
  /// Cells in a line; 0: nothing is cut.
  size_t width = 0;
  /// Lines; 0: as many as there are.
  size_t height = 0;
  bool colours = false;
  /// Whether it shows more than ASCII.
  bool utf8 = true;
};

/// Looks at an open descriptor. `NO_COLOR` (not empty) and `TERM=dumb` of the
/// environment turn colours off; `COLUMNS` is no part of it, since shells do
/// not export it.
terminal terminal_of(int descriptor,
                     const std::vector<std::string>& environment);

/// `text` between the escape sequences of a colour, or as it is.
std::string painted(std::string_view text, tint colour, bool colours);

/// The value of `NAME` in `NAME=value` entries; empty when there is none.
std::string variable(const std::vector<std::string>& environment,
                     std::string_view name);

/// The colour of a job's status.
tint tint_of_status(std::string_view status);

/// `percent` as a bar of `width` cells.
std::string bar(int percent, size_t width, bool utf8);

} // namespace reeve
