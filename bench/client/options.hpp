// bench/client/options.hpp -- `--name=value` arguments of the client.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace reeve::bench {

class arguments {
public:
  /// Throws `std::invalid_argument` for what is not `--name=value`.
  arguments(int count, char** values);

  std::string text(const std::string& name, const std::string& other) const;
  uint64_t number(const std::string& name, uint64_t other) const;
  /// Throws `std::invalid_argument` when it is missing.
  uint64_t number(const std::string& name) const;

private:
  std::map<std::string, std::string> values_;
};

} // namespace reeve::bench
