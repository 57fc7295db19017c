// processors/command.cpp -- a job type whose work is a program's.
#include "processors/command.hpp"

#include "net/json.hpp"
#include "net/text.hpp"
#include "persistence/text.hpp"
#include "processors/child_process.hpp"
#include "processors/job_json.hpp"

#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace reeve {

namespace {

constexpr size_t max_quoted_bytes = 2 * 1024;

constexpr size_t max_progress_code_points = 200;

constexpr std::string_view default_path = "/usr/local/bin:/usr/bin:/bin";

std::string variable(const std::string& name) {
  const auto* value = std::getenv(name.c_str());
  return value != nullptr ? value : std::string{};
}

bool is_program(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode)
    && access(path.c_str(), X_OK) == 0;
}

std::string path_variable() {
  auto result = variable("PATH");
  return result.empty() ? std::string{default_path} : result;
}

// The absolute path of a program; it must not depend on the directory that it
// will run in.
std::string program_of(const std::string& name) {
  auto absolute = [](const std::string& path) {
    return std::filesystem::absolute(path).lexically_normal().string();
  };
  if (name.find('/') != std::string::npos) {
    if (is_program(name))
      return absolute(name);
    throw std::invalid_argument(name + " is no program");
  }
  auto rest = path_variable() + ':';
  for (size_t end; (end = rest.find(':')) != std::string::npos;
       rest.erase(0, end + 1)) {
    // An empty entry is the current directory, which nobody means.
    auto candidate = rest.substr(0, end) + '/' + name;
    if (end != 0 && is_program(candidate))
      return absolute(candidate);
  }
  throw std::invalid_argument("there is no program " + name + " in PATH");
}

bool has_nul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

std::vector<std::string> environment_of(const command_options& options) {
  std::vector<std::string> result{"PATH=" + path_variable()};
  std::vector<std::string> names{"HOME", "LANG", "TZ"};
  for (const auto& name : options.environment) {
    if (name.empty() || name.find('=') != std::string::npos || has_nul(name))
      throw std::invalid_argument("a variable's name must have neither = nor "
                                  "NUL in it");
    if (name.starts_with("REEVE_"))
      throw std::invalid_argument(name
                                  + " is the node's own and is not passed "
                                    "on to programs");
    if (name != "PATH")
      names.push_back(name);
  }
  for (const auto& name : names)
    if (const auto* value = std::getenv(name.c_str()))
      result.push_back(name + '=' + value);
  return result;
}

// The last lines of a program's standard error, and the progress in it.
class error_lines {
public:
  explicit error_lines(job_context& context) : context_(context) {
    // nop
  }

  void add(std::string_view line) {
    if (report_progress(line))
      return;
    tail_ += line;
    tail_ += '\n';
    if (tail_.size() > 2 * max_quoted_bytes)
      tail_.erase(0, tail_.size() - max_quoted_bytes);
  }

  /// `what`, and the lines behind it.
  std::string message(std::string what) const {
    std::string_view quoted = tail_;
    if (quoted.size() > max_quoted_bytes)
      quoted.remove_prefix(quoted.size() - max_quoted_bytes);
    while (!quoted.empty() && quoted.back() == '\n')
      quoted.remove_suffix(1);
    // A cut in the middle of a character leaves its rest.
    while (!quoted.empty() && (quoted.front() & 0xC0) == 0x80)
      quoted.remove_prefix(1);
    return quoted.empty() ? what : what + ": " + sanitized(quoted);
  }

private:
  // `progress PERCENT TEXT`; anything that is not quite that is a line like
  // others.
  bool report_progress(std::string_view line) {
    constexpr std::string_view word = "progress ";
    if (!line.starts_with(word))
      return false;
    line = net::trim(line.substr(word.size()));
    auto number = line.substr(0, line.find(' '));
    if (!net::is_digits(number) || number.size() > 3)
      return false;
    auto percent = std::stoi(std::string{number});
    if (percent > 100)
      return false;
    auto text = sanitized(net::trim(line.substr(number.size())));
    context_.progress(percent, truncated(text, max_progress_code_points));
    return true;
  }

  job_context& context_;
  std::string tail_;
};

outcome completed_with(std::string output) {
  while (!output.empty() && (output.back() == '\n' || output.back() == '\r'))
    output.pop_back();
  if (net::trim(output).empty())
    return outcome::completed(nullptr);
  try {
    return outcome::completed(net::parse_json(output));
  } catch (const net::json_error&) {
    // Not JSON that a store could keep: then it is some text.
  }
  if (!is_storable(output))
    return outcome::failed_permanently("The program's output is neither JSON "
                                       "nor UTF-8 text");
  return outcome::completed({{"output", std::move(output)}});
}

outcome outcome_of(child_end end, const error_lines& errors, size_t limit) {
  if (end.stopped)
    return outcome::cancelled();
  if (end.output_too_large)
    return outcome::failed_permanently(
      errors.message("The program wrote more than " + std::to_string(limit)
                     + " bytes and was killed"));
  if (end.signal) {
    // Real-time signals have no description.
    const auto* name = sigdescr_np(*end.signal);
    return outcome::failed(errors.message(
      "The program was ended by signal " + std::to_string(*end.signal)
      + (name != nullptr ? std::string{" ("} + name + ')' : std::string{})));
  }
  if (end.exit_code == 0)
    return completed_with(std::move(end.output));
  auto message = errors.message("The program ended with exit code "
                                + std::to_string(end.exit_code));
  switch (end.exit_code) {
    case EX_USAGE:
    case EX_DATAERR:
      return outcome::failed_permanently(std::move(message));
    case EX_TEMPFAIL:
      return outcome::throttled(std::move(message));
    default:
      return outcome::failed(std::move(message));
  }
}

} // namespace

command::command(command_options options) : options_(std::move(options)) {
  if (options_.argv.empty() || options_.argv.front().empty())
    throw std::invalid_argument("a command needs a program");
  for (const auto& argument : options_.argv)
    if (has_nul(argument))
      throw std::invalid_argument("a command's arguments have no NUL in them");
  const auto& directory = options_.working_directory;
  std::error_code ignored;
  if (!directory.empty()
      && (has_nul(directory)
          || !std::filesystem::is_directory(directory, ignored)))
    throw std::invalid_argument(directory + " is no directory");
  program_ = program_of(options_.argv.front());
  environment_ = environment_of(options_);
}

outcome command::run(job_context& context) {
  const auto& job = context.current();
  if (context.stop().stop_requested())
    return outcome::cancelled();
  error_lines errors{context};
  child_command what;
  what.program = program_;
  what.arguments = options_.argv;
  what.environment = environment_;
  what.environment.push_back("REEVE_JOB_ID=" + job.id);
  what.environment.push_back("REEVE_JOB_TYPE=" + job.type);
  what.environment.push_back("REEVE_ATTEMPT=" + std::to_string(job.attempts));
  if (const auto& trace = context.trace()) {
    what.environment.push_back("TRACEPARENT=" + trace.parent);
    if (!trace.state.empty())
      what.environment.push_back("TRACESTATE=" + trace.state);
  }
  what.working_directory = options_.working_directory;
  what.input = job_json(job);
  what.max_output_bytes = options_.max_output_bytes;
  what.grace = options_.grace;
  what.on_error_line = [&errors](std::string_view line) { errors.add(line); };
  auto end = run_child(what, context.stop());
  if (auto* err = std::get_if<not_started>(&end)) {
    auto message = "The program did not start: " + err->why;
    // A crowded machine is not the job's fault.
    return err->out_of_resources ? outcome::throttled(std::move(message))
                                 : outcome::failed(std::move(message));
  }
  return outcome_of(std::get<child_end>(std::move(end)), errors,
                    options_.max_output_bytes);
}

} // namespace reeve
