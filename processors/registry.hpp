// processors/registry.hpp -- which processor does which job type.
#pragma once

#include "processors/processor.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace reeve {

/// Longest name of a job type in characters.
inline constexpr size_t max_type_name = 100;

/// True for 1 to `max_type_name` characters out of A-Z a-z 0-9 _ - and dot.
bool is_type_name(std::string_view text) noexcept;

/// The job types of a node. Filled once at start; thread-safe from then on.
class processor_registry {
public:
  /// Throws `std::invalid_argument` for a name that is no type name or is
  /// taken, and for a null processor.
  void add(std::string type, std::shared_ptr<processor> how);

  /// Null when there is none for that type. Names are case-sensitive.
  std::shared_ptr<processor> find(std::string_view type) const;

  /// In alphabetical order.
  std::vector<std::string> names() const;

private:
  std::map<std::string, std::shared_ptr<processor>, std::less<>> processors_;
};

} // namespace reeve
