// net/router.cpp -- which handler serves a method and a path.
#include "net/router.hpp"

#include <cassert>

namespace reeve::net::detail {

namespace {

bool is_parameter(std::string_view segment) {
  return segment.size() > 2 && segment.front() == '{' && segment.back() == '}';
}

} // namespace

std::vector<std::string> split_pattern(std::string_view pattern) {
  assert(!pattern.empty() && pattern.front() == '/');
  std::vector<std::string> result;
  auto rest = pattern.substr(1);
  if (rest.empty())
    return result;
  for (;;) {
    auto slash = rest.find('/');
    result.emplace_back(rest.substr(0, slash));
    if (slash == std::string_view::npos)
      return result;
    rest.remove_prefix(slash + 1);
  }
}

int fit(const std::vector<std::string>& pattern,
        const std::vector<std::string>& segments) {
  if (pattern.size() != segments.size())
    return -1;
  int literals = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const auto& want = pattern[i];
    if (!is_parameter(want)) {
      if (want != segments[i])
        return -1;
      ++literals;
      continue;
    }
    // `/api/jobs//events` names no job.
    if (segments[i].empty())
      return -1;
  }
  return literals;
}

path_parameters parameters_of(const std::vector<std::string>& pattern,
                              const std::vector<std::string>& segments) {
  path_parameters result;
  for (size_t i = 0; i < pattern.size(); ++i)
    if (const auto& name = pattern[i]; is_parameter(name))
      result[name.substr(1, name.size() - 2)] = segments[i];
  return result;
}

} // namespace reeve::net::detail
