// cli/client_command.cpp -- commands that speak to a running node.
#include "cli/client_command.hpp"

#include "cli/cells.hpp"

#include <unistd.h>

#include <cmath>
#include <iomanip>
#include <iostream>
#include <sstream>

namespace reeve {

namespace {

constexpr const char* usual_url = "http://127.0.0.1:8080";

struct client_options {
  std::string url;
  bool json = false;
};

int run_client(const client_options& options,
               const std::vector<std::string>& environment,
               const std::function<int(const client_session&)>& run) {
  auto url = options.url;
  if (url.empty())
    url = variable(environment, "REEVE_URL");
  if (url.empty())
    url = usual_url;
  try {
    client_session session{
      api_client{url, variable(environment, "REEVE_API_KEY")},
      terminal_of(STDOUT_FILENO, environment), environment, options.json};
    auto result = run(session);
    std::cout.flush();
    return std::cout ? result : exit_failed;
  } catch (const api_error& err) {
    std::cout.flush();
    std::cerr << "reeve: " << harmless(err.what()) << '\n';
    return err.code();
  } catch (const std::exception& err) {
    std::cerr << "reeve: " << harmless(err.what()) << '\n';
    return exit_failed;
  }
}

} // namespace

void client_session::print_json(const std::string& body) const {
  std::cout << harmless_json(body) << '\n';
}

void client_session::print_json(const ordered_json& body) const {
  print_json(body.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

CLI::App* add_client_command(const command_line& to, const std::string& name,
                             const std::string& description,
                             std::function<int(const client_session&)> run) {
  auto* result = to.app.add_subcommand(name, description);
  auto options = std::make_shared<client_options>();
  result->add_option("--url", options->url,
                     "where the node is; else REEVE_URL, else "
                       + std::string{usual_url});
  result->add_flag("--json", options->json, "print JSON, for programs");
  result->callback([options, run = std::move(run), &chosen = to.chosen,
                    &environment = to.environment] {
    chosen = [options, run, &environment] {
      return run_client(*options, environment, run);
    };
  });
  return result;
}

std::string shown_time(const std::string& rfc3339) {
  auto result = rfc3339.substr(0, 19);
  if (result.size() == 19 && result[10] == 'T')
    result[10] = ' ';
  return result;
}

std::string shown_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0)
    return "-";
  if (seconds < 10) {
    std::ostringstream out;
    out << std::fixed << std::setprecision(1) << seconds << 's';
    return out.str();
  }
  auto left = static_cast<int64_t>(std::min(seconds, 1e12));
  std::pair<int64_t, const char*> units[] = {{left / 86'400, "d"},
                                             {left / 3'600 % 24, "h"},
                                             {left / 60 % 60, "m"},
                                             {left % 60, "s"}};
  for (size_t i = 0; i < 4; ++i) {
    if (units[i].first == 0)
      continue;
    auto result = std::to_string(units[i].first) + units[i].second;
    if (i < 3 && units[i + 1].first > 0)
      result += ' ' + std::to_string(units[i + 1].first) + units[i + 1].second;
    return result;
  }
  return "0s";
}

void print_field(const client_session& session, std::string_view name,
                 std::string_view value, tint colour) {
  constexpr size_t name_width = 14;
  if (value.empty())
    return;
  auto text = harmless(value);
  std::cout << painted(fitted(name, name_width), tint::bold,
                       session.out.colours)
            << painted(text, colour, session.out.colours) << '\n';
}

} // namespace reeve
