// cli/command_tree.cpp -- the commands as data.
#include "cli/command_tree.hpp"

#include "config/options.hpp"

#include <sstream>

namespace reeve {

namespace {

// CLI11 shows a set of allowed values as `TEXT:{a,b}`.
std::vector<std::string> choices_of(const CLI::Option& x) {
  std::vector<std::string> result;
  auto type = x.get_type_name();
  auto open = type.find('{');
  auto close = type.find('}');
  if (open == std::string::npos || close == std::string::npos || close < open)
    return result;
  std::istringstream list{type.substr(open + 1, close - open - 1)};
  for (std::string choice; std::getline(list, choice, ',');)
    result.push_back(choice);
  return result;
}

void add(command_info& to, const CLI::Option& x) {
  if (x.get_positional()) {
    to.arguments.push_back({x.get_name(true), x.get_description(),
                            x.get_required(), x.get_items_expected_max() > 1});
    return;
  }
  auto name = x.get_lnames().empty() ? '-' + x.get_snames().front()
                                     : "--" + x.get_lnames().front();
  to.options.push_back(
    {name, x.get_description(), x.get_items_expected_max() > 0, choices_of(x)});
}

void fill(command_info& to, const CLI::App& app) {
  to.description = app.get_description();
  to.takes_node_options = app.get_allow_extras() || app.get_prefix_command();
  for (const auto* option : app.get_options())
    add(to, *option);
  auto all = [](const CLI::App*) { return true; };
  for (const auto* child : app.get_subcommands(all)) {
    command_info info;
    info.path = to.path;
    info.path.push_back(child->get_name());
    fill(info, *child);
    to.children.push_back(std::move(info));
  }
}

} // namespace

command_info describe(const CLI::App& app) {
  command_info result;
  fill(result, app);
  return result;
}

std::vector<const command_info*> flattened(const command_info& info) {
  std::vector<const command_info*> result{&info};
  for (const auto& child : info.children)
    for (const auto* x : flattened(child))
      result.push_back(x);
  return result;
}

std::vector<node_option> node_options() {
  options config;
  std::vector<node_option> result;
  result.push_back({"config-file", "read the other settings from this file"});
  for (const auto& [key, help] : config.descriptions())
    result.push_back({key, help});
  return result;
}

} // namespace reeve
