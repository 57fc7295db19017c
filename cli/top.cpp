// cli/top.cpp -- `reeve top`: what goes on, live.
#include "cli/top.hpp"

#include "cli/cells.hpp"
#include "cli/reports.hpp"
#include "cli/screen.hpp"
#include "cli/table.hpp"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <iomanip>
#include <iostream>
#include <mutex>
#include <sstream>
#include <thread>

namespace reeve {

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

constexpr const char* running_jobs = "/api/jobs?status=PROCESSING";
constexpr size_t bar_width = 10;

/// What one look at the node found; `problem` is set when it failed.
struct snapshot {
  ordered_json stats;
  ordered_json running;
  ordered_json lanes;
  clock_type::time_point taken;
  std::string problem;
  exit_code code = exit_ok;
};

snapshot look(const api_client& api, std::stop_token stop = {}) {
  snapshot result;
  try {
    result.stats = parsed(api.get("/api/stats", stop));
    result.running = list_of(parsed(api.get(running_jobs, stop)), "jobs");
    result.lanes =
      list_of(parsed(api.get("/api/providers", stop)), "providers");
  } catch (const api_error& err) {
    result.problem = err.what();
    result.code = err.code();
  }
  result.taken = clock_type::now();
  return result;
}

// Jobs that came to this status each second, between two looks.
std::string rate(const snapshot& before, const snapshot& now,
                 const std::string& status) {
  auto seconds =
    std::chrono::duration<double>(now.taken - before.taken).count();
  if (before.stats.is_null() || seconds <= 0)
    return "-";
  auto count = [&](const snapshot& x) {
    return x.stats.contains("jobs") ? number_of(x.stats["jobs"], status) : 0.0;
  };
  std::ostringstream out;
  out << std::fixed << std::setprecision(1)
      << std::max(0.0, (count(now) - count(before)) / seconds);
  return out.str();
}

table running_table(const snapshot& now, bool utf8) {
  table result{{{"RUNNING JOB"},
                {"PROGRESS"},
                {"TYPE", false, true},
                {"MESSAGE", false, true},
                {"SINCE (UTC)"}}};
  for (const auto& job : now.running) {
    const auto progress = job.value("progress", ordered_json::object());
    auto percent = static_cast<int>(number_of(progress, "percent"));
    result.add({{text_of(job, "id")},
                {bar(percent, bar_width, utf8) + ' '
                   + fitted(std::to_string(percent), 3, true) + " %",
                 tint::busy},
                {text_of(job, "type")},
                {text_of(progress, "message")},
                {shown_time(text_of(job, "started_at")), tint::faint}});
  }
  return result;
}

table lanes_table(const snapshot& now) {
  table result{{{"LANE", false, true},
                {"STATE"},
                {"CALLS", true},
                {"WAITING", true},
                {"REASON", false, true}}};
  for (const auto& lane : now.lanes) {
    auto state = text_of(lane, "state");
    result.add(
      {{text_of(lane, "name")},
       {state, state == "open" ? tint::good : tint::bad},
       {text_of(lane, "in_flight") + '/' + text_of(lane, "concurrency")},
       {text_of(lane, "waiting")},
       {text_of(lane, "reason")}});
  }
  return result;
}

std::string frame(const client_session& session, const snapshot& before,
                  const snapshot& now, const std::string& problem) {
  const auto& out = session.out;
  auto line = [&](const std::string& text, tint colour = tint::none) {
    auto shown = harmless(text);
    if (out.width > 0)
      shown = cut_to(shown, out.width);
    return painted(shown, colour, out.colours) + '\n';
  };
  auto result = line("reeve top  " + session.api.url()
                       + (out.is_terminal ? "  (q quits)" : ""),
                     tint::bold);
  if (!problem.empty())
    result += line(problem, tint::bad);
  if (now.stats.is_null())
    return result;
  auto oldest = number_of(now.stats, "oldest_due_seconds");
  result += line("completed " + rate(before, now, "COMPLETED") + "/s  failed "
                 + rate(before, now, "FAILED") + "/s  oldest due "
                 + (oldest > 0 ? shown_duration(oldest) : "-"));
  result += '\n' + stats_table(now.stats).rendered(out.width, out.colours);
  auto running = running_table(now, out.utf8);
  if (!running.empty())
    result += '\n' + running.rendered(out.width, out.colours);
  auto lanes = lanes_table(now);
  if (!lanes.empty())
    result += '\n' + lanes.rendered(out.width, out.colours);
  return result;
}

// As many lines as the terminal has.
std::string first_lines(const std::string& text, size_t most) {
  size_t end = 0;
  for (size_t i = 0; i < most; ++i) {
    end = text.find('\n', end);
    if (end == std::string::npos)
      return text;
    ++end;
  }
  return text.substr(0, end);
}

/// Looks again and again, in a thread of its own: a node that does not answer
/// must not keep `q` from being heard.
class looker {
public:
  looker(const api_client& api, clock_type::duration interval, screen& shown)
    : thread_([this, &api, interval, &shown](std::stop_token stop) {
        while (!stop.stop_requested()) {
          auto found = look(api, stop);
          std::unique_lock guard{mutex_};
          found_ = std::move(found);
          has_news_ = true;
          shown.wake();
          changed_.wait_for(guard, stop, interval, [] { return false; });
        }
      }) {
    // nop
  }

  /// False when nothing came since the last call.
  bool take(snapshot& out) {
    std::unique_lock guard{mutex_};
    if (!has_news_)
      return false;
    has_news_ = false;
    out = std::move(found_);
    return true;
  }

private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  snapshot found_;
  bool has_news_ = false;
  // Last: it uses the others.
  std::jthread thread_;
};

bool quits(char key) {
  return key == 'q' || key == 'Q' || key == '\x03' || key == '\x04';
}

int live(client_session session, clock_type::duration interval) {
  // What cannot be looked at from the start is said on the usual screen.
  auto now = look(session.api);
  if (!now.problem.empty())
    throw api_error(0, now.code, now.problem);
  snapshot before;
  std::string problem;
  screen shown{STDIN_FILENO, STDOUT_FILENO};
  looker source{session.api, interval, shown};
  for (;;) {
    shown.draw(
      first_lines(frame(session, before, now, problem), session.out.height));
    auto what = shown.wait(1h);
    if (what == screen::event::end
        || (what == screen::event::key && quits(shown.key())))
      return exit_ok;
    if (what == screen::event::resized)
      session.out = terminal_of(STDOUT_FILENO, session.environment);
    snapshot found;
    if (!source.take(found))
      continue;
    problem = found.problem;
    if (problem.empty()) {
      before = std::move(now);
      now = std::move(found);
    }
  }
}

int top(const client_session& session, double seconds) {
  if (session.out.is_terminal && !session.json)
    return live(session,
                std::chrono::duration_cast<clock_type::duration>(
                  std::chrono::duration<double>(seconds)));
  auto now = look(session.api);
  if (!now.problem.empty())
    throw api_error(0, now.code, now.problem);
  if (session.json)
    session.print_json(ordered_json{{"stats", now.stats},
                                    {"running", now.running},
                                    {"providers", now.lanes}});
  else
    std::cout << frame(session, {}, now, "");
  return exit_ok;
}

} // namespace

void add_top_command(const command_line& to) {
  auto seconds = std::make_shared<double>(2.0);
  add_client_command(
    to, "top",
    "What goes on, live; q or Ctrl-C quits. Prints it once where there is no "
    "terminal",
    [seconds](const client_session& session) { return top(session, *seconds); })
    ->add_option("--interval", *seconds, "seconds between two looks; else 2")
    ->check(CLI::Range(0.1, 3600.0));
}

} // namespace reeve
