// processors/registry.cpp -- which processor does which job type.
#include "processors/registry.hpp"

#include <algorithm>
#include <stdexcept>

namespace reeve {

bool is_type_name(std::string_view text) noexcept {
  // Not std::isalnum: it asks the locale.
  auto allowed = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')
      || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
  };
  return !text.empty() && text.size() <= max_type_name
    && std::all_of(text.begin(), text.end(), allowed);
}

void processor_registry::add(std::string type, std::shared_ptr<processor> how) {
  if (!is_type_name(type))
    throw std::invalid_argument("a job type's name must be 1 to 100 of the "
                                "characters A-Z a-z 0-9 _ - .");
  if (how == nullptr)
    throw std::invalid_argument("the job type " + type + " has no processor");
  if (processors_.contains(type))
    throw std::invalid_argument("the job type " + type
                                + " already has a processor");
  processors_.emplace(std::move(type), std::move(how));
}

std::shared_ptr<processor> processor_registry::find(
  std::string_view type) const {
  auto i = processors_.find(type);
  return i != processors_.end() ? i->second : nullptr;
}

std::vector<std::string> processor_registry::names() const {
  std::vector<std::string> result;
  for (const auto& [name, how] : processors_)
    result.push_back(name);
  return result;
}

} // namespace reeve
