// cli/program.cpp -- the command line of `reeve`.
#include "cli/program.hpp"

#include "actors/interfaces.hpp"
#include "cli/accounts.hpp"
#include "cli/completion.hpp"
#include "cli/database_commands.hpp"
#include "cli/enqueue.hpp"
#include "cli/jobs.hpp"
#include "cli/keys.hpp"
#include "cli/manual.hpp"
#include "cli/reports.hpp"
#include "cli/serve.hpp"
#include "cli/top.hpp"

#include <CLI/CLI.hpp>
#include <caf/init_global_meta_objects.hpp>
#include <caf/io/middleman.hpp>

#include <csignal>
#include <functional>
#include <string>
#include <vector>

namespace reeve {

int run_program(int argc, char** argv, char** envp,
                const processor_additions& add) {
  // libpq, libcurl and sockets report broken pipes as errors.
  std::signal(SIGPIPE, SIG_IGN);
  // Whoever started us may ignore it, and then no child's exit code is told.
  std::signal(SIGCHLD, SIG_DFL);
  // Before anything of CAF, also before its options.
  caf::init_global_meta_objects<caf::id_block::reeve>();
  caf::io::middleman::init_global_meta_objects();
  caf::core::init_global_meta_objects();
  std::vector<std::string> environment;
  for (auto entry = envp; *entry != nullptr; ++entry)
    environment.emplace_back(*entry);

  CLI::App app{"Reeve: a durable background-job runtime.", "reeve"};
  app.set_version_flag("--version", "reeve " REEVE_VERSION);
  app.require_subcommand(1);
  app.footer("Exit codes: 0 done, 1 failed at run time, 2 bad usage or "
             "configuration,\n3 no such thing, 4 node or database cannot be "
             "reached, 5 the job that was\nwaited for did not complete, 6 not "
             "allowed, 7 migrations are outstanding.\n"
             "Environment: REEVE_URL, REEVE_API_KEY, NO_COLOR, and the "
             "options of a node.");

  auto* serve = app.add_subcommand("serve",
                                   "Run a node until it is told to "
                                   "stop (SIGTERM, SIGINT)");
  serve->prefix_command();
  serve->footer("Options are those of the configuration file: "
                "--http.port=8080, --database.url=sqlite:./reeve.db, "
                "--config-file=FILE, …; --print-config shows them all.");

  std::function<int()> chosen;
  serve->callback([&] {
    chosen = [&] { return reeve::serve(serve->remaining(), environment, add); };
  });
  command_line to{app, environment, chosen};
  add_migrate_command(to);
  add_check_command(to);
  add_enqueue_command(to);
  add_jobs_commands(to);
  add_errors_command(to);
  add_stats_command(to);
  add_actors_command(to);
  add_top_command(to);
  add_types_commands(to);
  add_keys_command(to);
  add_accounts_command(to);
  add_completion_commands(to, app);
  add_manual_command(to, app, REEVE_VERSION);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& err) {
    return app.exit(err) == 0 ? exit_ok : exit_bad_usage;
  }
  return chosen();
}

} // namespace reeve
