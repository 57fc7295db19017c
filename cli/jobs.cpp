// cli/jobs.cpp -- `reeve jobs`: what is with jobs, and how to change it.
#include "cli/jobs.hpp"

#include "cli/cells.hpp"
#include "cli/table.hpp"
#include "cli/watch.hpp"

#include <algorithm>
#include <iostream>

namespace reeve {

namespace {

/// What a node gives in one page unless it is told otherwise.
constexpr size_t largest_page = 200;

struct list_options {
  std::string status;
  std::string type;
  std::string target;
  std::string user;
  std::string error;
  std::string cursor;
  size_t limit = 50;
  bool all = false;
};

std::string job_path(const std::string& id) {
  return "/api/jobs/" + path_segment(id);
}

ordered_json page_of(const client_session& session, const list_options& x,
                     const std::string& cursor, size_t limit) {
  return parsed(session.api.get(
    "/api/jobs"
    + query_string({{"status", x.status},
                    {"type", x.type},
                    {"target_id", x.target},
                    {"user_id", x.user},
                    {"error", x.error},
                    {"cursor", cursor},
                    {"limit", limit == 0 ? "" : std::to_string(limit)}})));
}

// A node may give smaller pages than we ask for, and then refuses to be asked:
// what it gives by itself is its largest.
ordered_json first_page(const client_session& session, const list_options& x,
                        size_t& page_size) {
  try {
    return page_of(session, x, x.cursor, page_size);
  } catch (const api_error& err) {
    if (err.status() != 400 || page_size == 1)
      throw;
  }
  auto result = page_of(session, x, x.cursor, 0);
  page_size = std::max<size_t>(list_of(result, "jobs").size(), 1);
  return result;
}

// What a person wants to know of it in one line.
std::string message_of(const ordered_json& job) {
  auto error = text_of(job, "error_message");
  if (!error.empty())
    return error;
  auto status = text_of(job, "status");
  if (status == "PROCESSING" && job.contains("progress")) {
    const auto& progress = job["progress"];
    return text_of(progress, "percent") + " % " + text_of(progress, "message");
  }
  return status == "PENDING" ? text_of(job, "reason") : "";
}

void add_row(table& out, const ordered_json& job) {
  auto status = text_of(job, "status");
  out.add({{text_of(job, "id")},
           {status, tint_of_status(status)},
           {text_of(job, "type")},
           {text_of(job, "attempts") + '/' + text_of(job, "max_attempts")},
           {message_of(job)},
           {text_of(job, "target_id")},
           {shown_time(text_of(job, "created_at")), tint::faint}});
}

int list(const client_session& session, const list_options& x) {
  auto most = x.all ? SIZE_MAX : x.limit;
  auto page_size = std::min(most, largest_page);
  auto page = first_page(session, x, page_size);
  auto jobs = list_of(page, "jobs");
  auto cursor = text_of(page, "next_cursor");
  while (!cursor.empty() && jobs.size() < most) {
    page = page_of(session, x, cursor, std::min(page_size, most - jobs.size()));
    for (const auto& job : list_of(page, "jobs"))
      jobs.push_back(job);
    cursor = text_of(page, "next_cursor");
  }
  if (session.json) {
    session.print_json(ordered_json{
      {"jobs", std::move(jobs)},
      {"next_cursor",
       cursor.empty() ? ordered_json(nullptr) : ordered_json(cursor)}});
    return exit_ok;
  }
  table out{{{"ID"},
             {"STATUS"},
             {"TYPE", false, true},
             {"TRIES"},
             {"MESSAGE", false, true},
             {"TARGET", false, true},
             {"CREATED (UTC)"}}};
  for (const auto& job : jobs)
    add_row(out, job);
  std::cout << out.rendered(session.out.width, session.out.colours);
  if (!cursor.empty())
    std::cerr << "more: --cursor=" << harmless(cursor) << ", or --all\n";
  return exit_ok;
}

void print_attempts(const client_session& session, const ordered_json& all) {
  if (all.empty())
    return;
  table out{{{"RUN", true},
             {"OUTCOME"},
             {"ERROR", false, true},
             {"DECISION"},
             {"WHY", false, true},
             {"ENDED (UTC)"},
             {"NODE", false, true}}};
  for (const auto& x : all)
    out.add({{text_of(x, "run")},
             {text_of(x, "outcome")},
             {text_of(x, "error")},
             {text_of(x, "decision")},
             {text_of(x, "why")},
             {shown_time(text_of(x, "finished_at")), tint::faint},
             {text_of(x, "node")}});
  std::cout << '\n' << out.rendered(session.out.width, session.out.colours);
}

void print_steps(const client_session& session, const ordered_json& all) {
  if (all.empty())
    return;
  table out{{{"STEP", false, true},
             {"DONE (UTC)"},
             {"TOOK", true},
             {"MODEL", false, true},
             {"TOKENS IN", true},
             {"OUT", true},
             {"IMAGES", true}}};
  for (const auto& x : all) {
    const auto used = x.value("usage", ordered_json::object());
    out.add({{text_of(x, "name")},
             {shown_time(text_of(x, "created_at")), tint::faint},
             {shown_duration(number_of(x, "took_ms") / 1000)},
             {text_of(x, "model")},
             {text_of(used, "input_tokens")},
             {text_of(used, "output_tokens")},
             {text_of(used, "images")}});
  }
  std::cout << '\n' << out.rendered(session.out.width, session.out.colours);
}

int show(const client_session& session, const std::string& id) {
  auto job = parsed(session.api.get(job_path(id)));
  auto attempts =
    list_of(parsed(session.api.get(job_path(id) + "/attempts")), "attempts");
  auto steps =
    list_of(parsed(session.api.get(job_path(id) + "/steps")), "steps");
  if (session.json) {
    job["runs"] = std::move(attempts);
    job["steps"] = std::move(steps);
    session.print_json(job);
    return exit_ok;
  }
  for (const auto& [name, value] : job.items()) {
    auto text = text_of(job, name);
    if (name == "status")
      print_field(session, name, text, tint_of_status(text));
    else if (name.ends_with("_at"))
      print_field(session, name, shown_time(text));
    else if (name == "error_message")
      print_field(session, name, text, tint::bad);
    else
      print_field(session, harmless(name), text);
  }
  print_attempts(session, attempts);
  print_steps(session, steps);
  return exit_ok;
}

int explain(const client_session& session, const std::string& id) {
  auto body = session.api.get(job_path(id) + "/explain");
  if (session.json) {
    session.print_json(body);
    return exit_ok;
  }
  auto why = parsed(body);
  auto status = text_of(why, "status");
  print_field(session, "status", status, tint_of_status(status));
  print_field(session, "why", text_of(why, "text"));
  print_field(session, "until", text_of(why, "until"));
  print_field(session, "blocked by", text_of(why, "blocking_job"));
  print_field(session, "position", text_of(why, "queue_position"));
  return exit_ok;
}

int cancel(const client_session& session, const std::vector<std::string>& ids) {
  for (const auto& id : ids) {
    auto body = session.api.post(job_path(id) + "/cancel");
    if (session.json) {
      session.print_json(body);
      continue;
    }
    auto job = parsed(body);
    // A running one is asked to stop, and may end otherwise.
    auto status = text_of(job, "status");
    std::cout << harmless(text_of(job, "id")) << ' '
              << (status == "PROCESSING" ? "is asked to stop"
                                         : harmless(status))
              << '\n';
  }
  return exit_ok;
}

void add_list_command(const command_line& jobs) {
  auto x = std::make_shared<list_options>();
  auto* command = add_client_command(
    jobs, "list", "Jobs, newest first",
    [x](const client_session& session) { return list(session, *x); });
  command->add_option("--status", x->status, "only those in this state")
    ->check(CLI::IsMember(
      {"PENDING", "PROCESSING", "COMPLETED", "FAILED", "CANCELLED"}));
  command->add_option("--type", x->type, "only this job type");
  command->add_option("--target", x->target, "only this target");
  command->add_option("--user", x->user, "only this user's");
  command->add_option("--error", x->error,
                      "only with such an error message: an SQL LIKE "
                      "pattern, e.g. '%timeout%'");
  auto* limit =
    command->add_option("--limit", x->limit, "at most so many; else 50")
      ->check(CLI::Range(1, 1'000'000));
  command->add_flag("--all", x->all, "all there are")->excludes(limit);
  command->add_option("--cursor", x->cursor,
                      "where an earlier list ended, as it says");
}

} // namespace

void add_jobs_commands(const command_line& to) {
  auto* group = to.app.add_subcommand("jobs", "Look at jobs and change them");
  group->require_subcommand(1);
  auto jobs = to.under(group);
  add_list_command(jobs);
  // One option of one name, for commands of their own.
  auto add_one = [&](const char* name, const char* description, auto run) {
    auto id = std::make_shared<std::string>();
    add_client_command(
      jobs, name, description,
      [id, run](const client_session& session) { return run(session, *id); })
      ->add_option("ID", *id, "the job's id")
      ->required();
  };
  add_one("show", "One job, its runs and its steps", show);
  add_one("watch",
          "Follow a job to its end; exits with 0 when it is COMPLETED and "
          "with 5 otherwise",
          watch);
  add_one("explain", "The first thing that keeps a job from running", explain);
  auto ids = std::make_shared<std::vector<std::string>>();
  add_client_command(
    jobs, "cancel", "Cancel jobs; a running one is asked to stop",
    [ids](const client_session& session) { return cancel(session, *ids); })
    ->add_option("ID", *ids, "ids of jobs")
    ->required();
  add_retry_command(jobs);
}

} // namespace reeve
