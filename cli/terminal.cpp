// cli/terminal.cpp -- what the output of a command goes to.
#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace reeve {

namespace {

constexpr size_t usual_width = 80;
constexpr size_t usual_height = 24;

bool is_utf8(const std::vector<std::string>& environment) {
  for (const auto* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    auto value = variable(environment, name);
    if (value.empty())
      continue;
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return std::toupper(c); });
    return value.find("UTF-8") != std::string::npos
      || value.find("UTF8") != std::string::npos;
  }
  return false;
}

const char* start_of(tint colour) {
  switch (colour) {
    case tint::good:
      return "\x1b[32m";
    case tint::bad:
      return "\x1b[31m";
    case tint::busy:
      return "\x1b[36m";
    case tint::faint:
      return "\x1b[2m";
    case tint::bold:
      return "\x1b[1m";
    case tint::none:
      break;
  }
  return "";
}

} // namespace

terminal terminal_of(int descriptor,
                     const std::vector<std::string>& environment) {
  terminal result;
  result.is_terminal = isatty(descriptor) == 1;
  if (!result.is_terminal)
    return result;
  winsize size{};
  ioctl(descriptor, TIOCGWINSZ, &size);
  result.width = size.ws_col > 0 ? size.ws_col : usual_width;
  result.height = size.ws_row > 0 ? size.ws_row : usual_height;
  result.colours = variable(environment, "NO_COLOR").empty()
    && variable(environment, "TERM") != "dumb";
  result.utf8 = is_utf8(environment);
  return result;
}

std::string painted(std::string_view text, tint colour, bool colours) {
  std::string result{text};
  if (colours && colour != tint::none)
    result = start_of(colour) + result + "\x1b[0m";
  return result;
}

std::string variable(const std::vector<std::string>& environment,
                     std::string_view name) {
  for (const auto& entry : environment)
    if (entry.size() > name.size() && entry.starts_with(name)
        && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
  return {};
}

tint tint_of_status(std::string_view status) {
  if (status == "COMPLETED")
    return tint::good;
  if (status == "FAILED")
    return tint::bad;
  if (status == "PROCESSING")
    return tint::busy;
  return status == "CANCELLED" ? tint::faint : tint::none;
}

std::string bar(int percent, size_t width, bool utf8) {
  auto share = static_cast<size_t>(std::clamp(percent, 0, 100));
  auto full = width * share / 100;
  std::string result;
  for (size_t i = 0; i < width; ++i)
    result += i < full ? (utf8 ? "█" : "#") : (utf8 ? "░" : ".");
  return result;
}

} // namespace reeve
