// cli/store_command.cpp -- opens the store for one command.
#include "cli/store_command.hpp"

#include "cli/serve.hpp"
#include "config/options.hpp"

#include <iostream>

namespace reeve {

int with_store(const std::vector<std::string>& arguments,
               const std::vector<std::string>& environment,
               const std::function<int(job_store&)>& f) {
  try {
    options config;
    config.load(arguments, environment);
    auto stores = store_factory::make(config.database_url);
    stores->migrate();
    return f(*stores->connect());
  } catch (const bad_option& err) {
    std::cerr << "reeve: " << err.what() << '\n';
    return exit_bad_usage;
  } catch (const bad_database_url& err) {
    std::cerr << "reeve: " << err.what() << '\n';
    return exit_bad_usage;
  } catch (const std::exception& err) {
    std::cerr << "reeve: " << err.what() << '\n';
    return exit_failed;
  }
}

} // namespace reeve
