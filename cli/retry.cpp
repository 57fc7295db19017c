// cli/retry.cpp -- `reeve jobs retry`: one by one, or all that failed alike.
#include "cli/cells.hpp"
#include "cli/jobs.hpp"
#include "cli/table.hpp"

#include <iostream>
#include <optional>

namespace reeve {

namespace {

struct retry_options {
  std::vector<std::string> ids;
  std::string type;
  std::string error;
  std::string fingerprint;
  std::string from;
  std::string to;
  size_t limit = 0;
  bool all = false;
  bool dry_run = false;
};

bool has_filter(const retry_options& x) {
  return x.all || !x.type.empty() || !x.error.empty() || !x.fingerprint.empty()
    || !x.from.empty() || !x.to.empty();
}

int retry_each(const client_session& session, const retry_options& x) {
  for (const auto& id : x.ids) {
    auto body = session.api.post("/api/jobs/" + path_segment(id) + "/retry");
    if (session.json) {
      session.print_json(body);
      continue;
    }
    auto job = parsed(body);
    std::cout << harmless(text_of(job, "id")) << ' '
              << harmless(text_of(job, "status")) << '\n';
  }
  return exit_ok;
}

std::string request_of(const retry_options& x) {
  ordered_json result{{"status", "FAILED"}, {"dry_run", x.dry_run}};
  auto add = [&](const char* name, const std::string& value) {
    if (!value.empty())
      result[name] = value;
  };
  add("type", x.type);
  add("error_like", x.error);
  add("fingerprint", x.fingerprint);
  add("from", x.from);
  add("to", x.to);
  if (x.limit > 0)
    result["limit"] = x.limit;
  return result.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

int retry_alike(const client_session& session, const retry_options& x) {
  auto body = session.api.post("/api/jobs/retry", request_of(x));
  if (session.json) {
    session.print_json(body);
    return exit_ok;
  }
  auto done = parsed(body);
  print_field(session, "matched", text_of(done, "matched"));
  if (x.dry_run) {
    print_field(session, "retried", "none: this is a dry run");
  } else {
    print_field(session, "retried", text_of(done, "retried"));
    print_field(session, "passed over", text_of(done, "passed_over"));
  }
  table out{{{"SAMPLE"},
             {"ERROR", false, true},
             {"TYPE", false, true},
             {"FAILED (UTC)"}}};
  for (const auto& job : list_of(done, "sample"))
    out.add({{text_of(job, "id")},
             {text_of(job, "error_message")},
             {text_of(job, "type")},
             {shown_time(text_of(job, "finished_at")), tint::faint}});
  if (!out.empty())
    std::cout << '\n' << out.rendered(session.out.width, session.out.colours);
  return exit_ok;
}

int retry(const client_session& session, const retry_options& x) {
  if (x.ids.empty() && !has_filter(x))
    throw api_error(0, exit_bad_usage,
                    "name jobs by ID, or say which failures: --error, "
                    "--fingerprint, --type, --from, --to or --all");
  if (!x.ids.empty() && (has_filter(x) || x.limit > 0 || x.dry_run))
    throw api_error(0, exit_bad_usage,
                    "name jobs by ID or say which failures, not both");
  return x.ids.empty() ? retry_alike(session, x) : retry_each(session, x);
}

} // namespace

void add_retry_command(const command_line& jobs) {
  auto x = std::make_shared<retry_options>();
  auto* command = add_client_command(
    jobs, "retry", "Have jobs run again: these, or all that FAILED alike",
    [x](const client_session& session) { return retry(session, *x); });
  command->add_option("ID", x->ids, "ids of jobs");
  auto* error =
    command->add_option("--error", x->error,
                        "with such an error message: an SQL LIKE pattern, "
                        "e.g. '%503%'");
  command
    ->add_option("--fingerprint", x->fingerprint,
                 "of this group of `reeve errors`")
    ->excludes(error);
  command->add_option("--type", x->type, "of this job type");
  command->add_option("--from", x->from,
                      "that failed then or later, e.g. 2026-01-31T00:00:00Z");
  command->add_option("--to", x->to, "that failed before then");
  command->add_option("--limit", x->limit, "at most so many")
    ->check(CLI::Range(1, 1'000'000));
  command->add_flag("--all", x->all, "whatever made them fail");
  command->add_flag("--dry-run", x->dry_run,
                    "only count, and show a sample of ten");
}

} // namespace reeve
