// cli/reports.cpp -- `reeve errors`, `stats`, `actors` and `types`.
#include "cli/reports.hpp"

#include "cli/cells.hpp"

#include <iostream>
#include <map>
#include <set>

namespace reeve {

namespace {

struct errors_options {
  std::string type;
  std::string from;
  std::string to;
  std::string limit;
};

void print(const client_session& session, const table& what) {
  std::cout << what.rendered(session.out.width, session.out.colours);
}

std::string joined(const ordered_json& list) {
  std::string result;
  for (const auto& x : list)
    if (x.is_string())
      result += (result.empty() ? "" : ", ") + x.get<std::string>();
  return result;
}

int errors(const client_session& session, const errors_options& x) {
  auto body = session.api.get(
    "/api/errors"
    + query_string(
      {{"type", x.type}, {"from", x.from}, {"to", x.to}, {"limit", x.limit}}));
  if (session.json) {
    session.print_json(body);
    return exit_ok;
  }
  auto found = parsed(body);
  table out{{{"COUNT", true},
             {"FINGERPRINT"},
             {"ERROR", false, true},
             {"LAST SEEN (UTC)"},
             {"TYPES", false, true}}};
  for (const auto& group : list_of(found, "errors"))
    out.add({{text_of(group, "count"), tint::bad},
             {text_of(group, "fingerprint")},
             {text_of(group, "pattern")},
             {shown_time(text_of(group, "last_seen")), tint::faint},
             {joined(list_of(group, "types"))}});
  print(session, out);
  return exit_ok;
}

int stats(const client_session& session) {
  auto body = session.api.get("/api/stats");
  if (session.json) {
    session.print_json(body);
    return exit_ok;
  }
  auto found = parsed(body);
  print(session, stats_table(found));
  if (found.contains("oldest_due_seconds")
      && found["oldest_due_seconds"].is_number())
    std::cout << "\nThe oldest due job waits for "
              << shown_duration(number_of(found, "oldest_due_seconds"))
              << ".\n";
  return exit_ok;
}

// -- actors -------------------------------------------------------------------

tint tint_of_state(const std::string& state) {
  if (state == "unresponsive" || state == "degraded" || state == "away"
      || state == "stopped" || state == "paused")
    return tint::bad;
  return state == "running" || state == "busy" ? tint::busy : tint::none;
}

// The 95th percentile of a distribution in seconds, once there is one.
std::string p95_of(const ordered_json& actor, const std::string& member) {
  if (!actor.contains(member) || !actor[member].is_object()
      || !actor[member].contains("p95") || !actor[member]["p95"].is_number())
    return {};
  auto ms = actor[member]["p95"].get<double>() * 1000;
  char text[32];
  std::snprintf(text, sizeof(text), ms < 10 ? "%.2f ms" : "%.0f ms", ms);
  return text;
}

// What is left of the restarts that the supervisor allows.
std::string budget_of(const ordered_json& actor) {
  if (!actor.contains("restart_budget"))
    return {};
  const auto& budget = actor["restart_budget"];
  return budget.is_object()
    ? text_of(budget, "left") + '/' + text_of(budget, "of")
    : std::string{};
}

using children_by_parent = std::multimap<std::string, const ordered_json*>;

void add_tree(table& out, const children_by_parent& children,
              const std::string& parent, size_t depth,
              std::set<const ordered_json*>& shown) {
  auto [first, last] = children.equal_range(parent);
  for (auto i = first; i != last; ++i) {
    const auto& actor = *i->second;
    // Whatever the answer says, each once.
    if (!shown.insert(&actor).second)
      continue;
    auto state = text_of(actor, "state");
    auto name = text_of(actor, "name");
    out.add({{std::string(2 * std::min<size_t>(depth, 20), ' ') + name},
             {state, tint_of_state(state)},
             {text_of(actor, "mailbox")},
             {text_of(actor, "restarts")},
             {budget_of(actor)},
             {shown_duration(number_of(actor, "uptime_seconds"))},
             {text_of(actor, "messages")},
             {p95_of(actor, "wait_seconds")},
             {p95_of(actor, "handling_seconds")},
             {text_of(actor, "last_error"), tint::bad},
             {text_of(actor, "job_id")}});
    if (!name.empty() && name != parent)
      add_tree(out, children, name, depth + 1, shown);
  }
}

int actors(const client_session& session) {
  auto body = session.api.get("/api/actors");
  if (session.json) {
    session.print_json(body);
    return exit_ok;
  }
  print(session, actors_table(list_of(parsed(body), "actors")));
  return exit_ok;
}

// -- types --------------------------------------------------------------------

int list_types(const client_session& session) {
  auto body = session.api.get("/api/types");
  if (session.json) {
    session.print_json(body);
    return exit_ok;
  }
  auto found = parsed(body);
  table out{{{"TYPE"},
             {"STATE"},
             {"RUNNING", true},
             {"LIMIT", true},
             {"TIMEOUT", true},
             {"TRIES", true},
             {"LANES", false, true},
             {"REASON", false, true}}};
  for (const auto& type : list_of(found, "types")) {
    auto paused = text_of(type, "paused") == "true";
    std::string lanes;
    for (const auto& lane : list_of(type, "lanes"))
      lanes += (lanes.empty() ? "" : ", ") + text_of(lane, "name") + " ("
        + text_of(lane, "state") + ')';
    out.add({{text_of(type, "type")},
             {paused ? "paused" : "runs", paused ? tint::bad : tint::good},
             {text_of(type, "running")},
             {text_of(type, "concurrency")},
             {shown_duration(number_of(type, "timeout_seconds"))},
             {text_of(type, "max_attempts")},
             {lanes},
             {text_of(type, "reason")}});
  }
  print(session, out);
  return exit_ok;
}

int change_type(const client_session& session, const std::string& type,
                const std::string& verb, const std::string& reason) {
  auto request = ordered_json::object();
  if (!reason.empty())
    request["reason"] = reason;
  auto body = session.api.post(
    "/api/types/" + path_segment(type) + '/' + verb,
    request.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
  if (session.json) {
    session.print_json(body);
    return exit_ok;
  }
  std::cout << harmless(type) << (verb == "pause" ? " is paused" : " runs")
            << '\n';
  return exit_ok;
}

} // namespace

table stats_table(const ordered_json& stats) {
  static constexpr const char* statuses[] = {
    "PENDING", "PROCESSING", "COMPLETED", "FAILED", "CANCELLED"};
  table result{{{"TYPE"},
                {"PENDING", true},
                {"PROCESSING", true},
                {"COMPLETED", true},
                {"FAILED", true},
                {"CANCELLED", true}}};
  auto add = [&](const std::string& name, const ordered_json& counts,
                 tint colour) {
    std::vector<cell> row{{name, colour}};
    for (const auto* status : statuses) {
      auto text = text_of(counts, status);
      row.push_back(
        {text.empty() ? "0" : text,
         text.empty() || text == "0" ? tint::faint : tint_of_status(status)});
    }
    result.add(std::move(row));
  };
  if (stats.contains("by_type") && stats["by_type"].is_object())
    for (const auto& [type, counts] : stats["by_type"].items())
      add(type, counts, tint::none);
  if (stats.contains("jobs"))
    add("all", stats["jobs"], tint::bold);
  return result;
}

table actors_table(const ordered_json& actors) {
  table result{{{"ACTOR"},
                {"STATE"},
                {"MAILBOX", true},
                {"RESTARTS", true},
                {"LEFT", true},
                {"UP", true},
                {"MESSAGES", true},
                {"WAIT P95", true},
                {"WORK P95", true},
                {"LAST ERROR", false, true},
                {"JOB"}}};
  std::set<std::string> names;
  for (const auto& actor : actors)
    names.insert(text_of(actor, "name"));
  children_by_parent children;
  for (const auto& actor : actors) {
    // One whose parent is not there stands at the top.
    auto parent = text_of(actor, "parent");
    children.emplace(names.count(parent) > 0 ? parent : "", &actor);
  }
  std::set<const ordered_json*> shown;
  add_tree(result, children, "", 0, shown);
  return result;
}

void add_errors_command(const command_line& to) {
  auto x = std::make_shared<errors_options>();
  auto* command = add_client_command(
    to, "errors", "Failures, grouped by what they have in common",
    [x](const client_session& session) { return errors(session, *x); });
  command->add_option("--type", x->type, "only this job type");
  command->add_option("--from", x->from,
                      "that failed then or later, e.g. 2026-01-31T00:00:00Z");
  command->add_option("--to", x->to, "that failed before then");
  command->add_option("--limit", x->limit, "at most so many groups; else 50");
}

void add_stats_command(const command_line& to) {
  add_client_command(to, "stats", "Jobs by type and status", stats);
}

void add_actors_command(const command_line& to) {
  add_client_command(to, "actors", "The supervision tree of a node", actors);
}

void add_types_commands(const command_line& to) {
  auto* group = to.app.add_subcommand("types",
                                      "Job types: list them, pause "
                                      "one, have it run again");
  group->require_subcommand(1);
  auto types = to.under(group);
  add_client_command(types, "list", "Job types of the node", list_types);
  auto type = std::make_shared<std::string>();
  auto reason = std::make_shared<std::string>();
  auto* pause = add_client_command(
    types, "pause", "Begin no more jobs of a type, on all nodes",
    [=](const client_session& session) {
      return change_type(session, *type, "pause", *reason);
    });
  pause->add_option("TYPE", *type, "the job type")->required();
  pause->add_option("--reason", *reason, "shown to those who ask why");
  add_client_command(types, "resume", "Begin jobs of a type again",
                     [=](const client_session& session) {
                       return change_type(session, *type, "resume", "");
                     })
    ->add_option("TYPE", *type, "the job type")
    ->required();
}

} // namespace reeve
