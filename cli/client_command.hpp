// cli/client_command.hpp -- commands that speak to a running node.
#pragma once

#include "cli/api.hpp"
#include "cli/terminal.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace reeve {

/// What a client command gets when it runs.
struct client_session {
  api_client api;
  /// Where standard output goes.
  terminal out;
  const std::vector<std::string>& environment;
  /// For programs: answers as the API gives them.
  bool json = false;

  /// An answer of the API and the end of its line.
  void print_json(const std::string& body) const;
  void print_json(const ordered_json& body) const;
};

/// How commands add themselves to the program: `chosen` is set to what to run
/// when one of them was named; it returns the exit code.
struct command_line {
  CLI::App& app;
  const std::vector<std::string>& environment;
  std::function<int()>& chosen;

  command_line under(CLI::App* group) const {
    return {*group, environment, chosen};
  }
};

/// Adds `name` with `--url` and `--json`. `run` may throw `api_error`; its
/// message goes to standard error, its code to the caller.
CLI::App* add_client_command(const command_line& to, const std::string& name,
                             const std::string& description,
                             std::function<int(const client_session&)> run);

/// Whole seconds: `2026-01-31T10:20:30.123Z` → `2026-01-31 10:20:30`; all are
/// UTC.
std::string shown_time(const std::string& rfc3339);

/// `93784.2` → `1d 2h`; the two largest units.
std::string shown_duration(double seconds);

/// A line of a key and its value; nothing when the value is empty.
void print_field(const client_session& session, std::string_view name,
                 std::string_view value, tint colour = tint::none);

} // namespace reeve
