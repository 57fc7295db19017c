// cli/enqueue.cpp -- `reeve enqueue`: adds a job.
#include "cli/enqueue.hpp"

#include "cli/cells.hpp"
#include "cli/watch.hpp"
#include "net/json.hpp"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

namespace reeve {

namespace {

struct new_job {
  std::string type;
  std::string target;
  std::string payload;
  std::string run_at;
  std::string unique_key;
  std::string user;
  int priority = 0;
  unsigned max_attempts = 0;
  bool wait = false;
};

std::string read_all(std::istream& in) {
  return {std::istreambuf_iterator<char>{in}, {}};
}

std::string text_named(const std::string& argument) {
  if (argument == "-")
    return read_all(std::cin);
  if (!argument.starts_with('@'))
    return argument;
  auto path = argument.substr(1);
  std::ifstream in{path, std::ios::binary};
  // A folder opens, and fails when it is read.
  if (!in || std::filesystem::is_directory(path))
    throw api_error(0, exit_bad_usage, "--payload: cannot read '" + path + "'");
  return read_all(in);
}

std::string request_of(const new_job& x) {
  ordered_json result{{"type", x.type}, {"target_id", x.target}};
  if (!x.payload.empty())
    result["payload"] = payload_of(x.payload);
  if (x.priority != 0)
    result["priority"] = x.priority;
  if (x.max_attempts != 0)
    result["max_attempts"] = x.max_attempts;
  auto add = [&](const char* name, const std::string& value) {
    if (!value.empty())
      result[name] = value;
  };
  add("run_at", x.run_at);
  add("unique_key", x.unique_key);
  add("user_id", x.user);
  return result.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

int enqueue(const client_session& session, const new_job& x) {
  auto body = session.api.post("/api/jobs", request_of(x));
  auto job = parsed(body);
  auto id = text_of(job, "id");
  if (session.json) {
    if (!x.wait) {
      session.print_json(body);
      return exit_ok;
    }
    auto ended = wait_for_end(session, id);
    session.print_json(ended);
    return code_of_end(ended);
  }
  if (job.value("deduplicated", false))
    std::cerr << "an unfinished job has this --unique-key already\n";
  std::cout << harmless(id) << std::endl;
  return x.wait ? watch(session, id) : exit_ok;
}

} // namespace

ordered_json payload_of(const std::string& argument) {
  auto text = text_named(argument);
  try {
    // The node's own rules, so that what is wrong is said with its place.
    net::parse_json(text);
  } catch (const net::json_error& err) {
    throw api_error(0, exit_bad_usage, std::string{"--payload: "} + err.what());
  }
  auto result = parsed(text);
  if (!result.is_object())
    throw api_error(0, exit_bad_usage, "--payload must be a JSON object");
  return result;
}

void add_enqueue_command(const command_line& to) {
  auto x = std::make_shared<new_job>();
  auto* command = add_client_command(
    to, "enqueue", "Add a job and print its id",
    [x](const client_session& session) { return enqueue(session, *x); });
  command->add_option("TYPE", x->type, "the job type, e.g. CARD_ANALYSIS")
    ->required();
  command->add_option("--target", x->target, "what it is about")->required();
  command->add_option("--payload", x->payload,
                      "a JSON object: as text, of a file (@FILE) or of "
                      "standard input (-)");
  command->add_option("--priority", x->priority,
                      "-1000 to 1000; a lower one runs sooner");
  command->add_option("--run-at", x->run_at,
                      "not before, e.g. 2026-01-31T10:00:00Z");
  command->add_option("--max-attempts", x->max_attempts, "1 to 100");
  command->add_option("--unique-key", x->unique_key,
                      "add nothing while an unfinished job has this key");
  command->add_option("--user", x->user, "whose job it is");
  command->add_flag("--wait", x->wait,
                    "follow it to its end, as `jobs watch` does");
}

} // namespace reeve
