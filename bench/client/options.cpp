// bench/client/options.cpp -- `--name=value` arguments of the client.
#include "bench/client/options.hpp"

#include <stdexcept>

namespace reeve::bench {

arguments::arguments(int count, char** values) {
  for (int i = 0; i < count; ++i) {
    std::string argument = values[i];
    auto equals = argument.find('=');
    if (argument.compare(0, 2, "--") != 0 || equals == std::string::npos)
      throw std::invalid_argument("not --name=value: " + argument);
    values_[argument.substr(2, equals - 2)] = argument.substr(equals + 1);
  }
}

std::string arguments::text(const std::string& name,
                            const std::string& other) const {
  auto i = values_.find(name);
  return i == values_.end() ? other : i->second;
}

uint64_t arguments::number(const std::string& name, uint64_t other) const {
  auto i = values_.find(name);
  return i == values_.end() ? other : std::stoull(i->second);
}

uint64_t arguments::number(const std::string& name) const {
  if (values_.count(name) == 0)
    throw std::invalid_argument("--" + name + " is missing");
  return number(name, 0);
}

} // namespace reeve::bench
