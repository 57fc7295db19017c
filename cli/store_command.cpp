// cli/store_command.cpp -- opens the store for one command.
#include "cli/store_command.hpp"

#include "cli/cells.hpp"
#include "cli/exit_code.hpp"

#include <iostream>

namespace reeve {

int with_options(const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment,
                 const std::function<int(const options&)>& f) {
  auto say = [](const std::exception& err, int code) {
    std::cerr << "reeve: " << harmless(err.what()) << '\n';
    return code;
  };
  try {
    options config;
    config.load(arguments, environment);
    return f(config);
  } catch (const bad_option& err) {
    return say(err, exit_bad_usage);
  } catch (const bad_database_url& err) {
    return say(err, exit_bad_usage);
  } catch (const store_unavailable& err) {
    return say(err, exit_unreachable);
  } catch (const std::exception& err) {
    return say(err, exit_failed);
  }
}

int with_store(const std::vector<std::string>& arguments,
               const std::vector<std::string>& environment,
               const std::function<int(job_store&)>& f) {
  return with_options(arguments, environment, [&](const options& config) {
    auto stores = store_factory::make(config.database_url);
    stores->migrate();
    return f(*stores->connect());
  });
}

void run_on_store(const command_line& to, CLI::App* command,
                  std::function<int(job_store&)> f) {
  command->allow_extras();
  command->footer(node_options_footer);
  command->callback([command, f = std::move(f), &chosen = to.chosen,
                     &environment = to.environment] {
    chosen = [command, f, &environment] {
      return with_store(command->remaining(), environment, f);
    };
  });
}

} // namespace reeve
