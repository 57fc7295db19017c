// cli/command_tree.hpp -- the commands as data, so that completions and the
// manual are always true.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace reeve {

struct command_option {
  /// With its dashes, e.g. `--status`; the long name when there are two.
  std::string name;
  std::string description;
  bool takes_value = false;
  /// What the value may be, when that is a short list.
  std::vector<std::string> choices;
};

struct command_argument {
  std::string name;
  std::string description;
  bool required = false;
  bool repeated = false;
};

struct command_info {
  /// Words behind `reeve`; none for the program itself.
  std::vector<std::string> path;
  std::string description;
  std::vector<command_option> options;
  std::vector<command_argument> arguments;
  /// Takes the settings of a node as `--key=value`, too.
  bool takes_node_options = false;
  std::vector<command_info> children;
};

/// Reads what was declared.
command_info describe(const CLI::App& app);

/// `info` and everything below it, parents first.
std::vector<const command_info*> flattened(const command_info& info);

/// A setting of a node, and what it is for.
struct node_option {
  std::string key;
  std::string description;
};

/// In alphabetical order.
std::vector<node_option> node_options();

} // namespace reeve
