// cli/database_commands.cpp -- `reeve migrate` and `reeve check`.
#include "cli/database_commands.hpp"

#include "cli/cells.hpp"
#include "cli/node.hpp"
#include "cli/store_command.hpp"
#include "config/options.hpp"
#include "persistence/job_store.hpp"
#include "persistence/schema.hpp"

#include <unistd.h>

#include <algorithm>
#include <iostream>

namespace reeve {

namespace {

int migrate(const options& config) {
  auto names = inspect_schema(config.database_url).outstanding;
  auto count = store_factory::make(config.database_url)->migrate();
  // A node that starts meanwhile may have applied the first of them.
  for (auto i = names.size() - std::min<size_t>(names.size(), count);
       i < names.size(); ++i)
    std::cout << "applied " << names[i] << '\n';
  if (count == 0)
    std::cout << "nothing to apply\n";
  return exit_ok;
}

/// One line of a check.
struct finding {
  std::string name;
  bool good;
  std::string text;
};

/// What was found so far, and what to exit with for the first that is wrong.
struct check_report {
  std::vector<finding> findings;
  exit_code code = exit_ok;

  void good(const std::string& name, const std::string& text) {
    findings.push_back({name, true, text});
  }

  void bad(const std::string& name, const std::string& text, exit_code why) {
    findings.push_back({name, false, text});
    if (code == exit_ok)
      code = why;
  }
};

void check_database(check_report& report, const std::string& url) {
  auto stores = store_factory::make(url);
  auto found = inspect_schema(url);
  report.good("database", stores->masked_url() + " answers");
  for (const auto& warning : found.warnings)
    report.good("durability", warning);
  for (const auto& problem : found.problems)
    report.bad("permissions", problem, exit_failed);
  if (found.problems.empty())
    report.good("permissions", "as a node needs them");
  auto all = found.applied + found.outstanding.size();
  if (!found.outstanding.empty())
    report.bad("schema",
               std::to_string(found.outstanding.size()) + " of "
                 + std::to_string(all) + " migrations are outstanding, from "
                 + found.outstanding.front()
                 + " on: `reeve migrate` applies them, and so does `serve`",
               exit_outstanding);
  else if (found.problems.empty())
    report.good("schema",
                "all " + std::to_string(all) + " migrations are applied");
}

check_report check(const std::vector<std::string>& arguments,
                   const std::vector<std::string>& environment) {
  check_report result;
  options config;
  try {
    config.load(arguments, environment);
    check_parts(config);
    result.good("configuration", "can be used");
    for (const auto& warning : config.warnings())
      result.good("warning", warning);
    check_database(result, config.database_url);
  } catch (const bad_option& err) {
    result.bad("configuration", err.what(), exit_bad_usage);
  } catch (const bad_database_url& err) {
    result.bad("configuration", err.what(), exit_bad_usage);
  } catch (const schema_mismatch& err) {
    result.bad("schema", err.what(), exit_failed);
  } catch (const store_unavailable& err) {
    result.bad("database", err.what(), exit_unreachable);
  }
  return result;
}

int print(const check_report& report, bool json,
          const std::vector<std::string>& environment) {
  if (json) {
    auto checks = ordered_json::array();
    for (const auto& x : report.findings)
      checks.push_back({{"check", x.name}, {"ok", x.good}, {"text", x.text}});
    std::cout << harmless_json(
      ordered_json{{"ok", report.code == exit_ok}, {"checks", checks}}.dump(
        -1, ' ', false, ordered_json::error_handler_t::replace))
              << '\n';
    return report.code;
  }
  auto colours = terminal_of(STDOUT_FILENO, environment).colours;
  for (const auto& x : report.findings)
    std::cout << painted(x.good ? "ok    " : "wrong ",
                         x.good ? tint::good : tint::bad, colours)
              << fitted(x.name, 15) << harmless(x.text) << '\n';
  return report.code;
}

} // namespace

void add_migrate_command(const command_line& to) {
  auto* command = to.app.add_subcommand(
    "migrate", "Bring the database's schema up to date, and say how");
  command->allow_extras();
  command->footer(node_options_footer);
  command->callback(
    [command, &chosen = to.chosen, &environment = to.environment] {
      chosen = [command, &environment] {
        return with_options(command->remaining(), environment, migrate);
      };
    });
}

void add_check_command(const command_line& to) {
  auto json = std::make_shared<bool>(false);
  auto* command = to.app.add_subcommand(
    "check",
    "See whether a node could run: its configuration, its database, "
    "the schema and permissions; changes nothing");
  command->allow_extras();
  command->add_flag("--json", *json, "print JSON, for programs");
  command->footer(node_options_footer);
  command->callback(
    [command, json, &chosen = to.chosen, &environment = to.environment] {
      chosen = [command, json, &environment] {
        return print(check(command->remaining(), environment), *json,
                     environment);
      };
    });
}

} // namespace reeve
