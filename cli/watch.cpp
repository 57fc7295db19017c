// cli/watch.cpp -- follows one job to its end.
#include "cli/watch.hpp"

#include "cli/cells.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <thread>

namespace reeve {

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

/// How long a node that was there may be away.
constexpr auto longest_absence = 60s;
constexpr std::chrono::milliseconds first_pause = 100ms;
constexpr std::chrono::milliseconds longest_pause = 2s;

constexpr size_t bar_width = 20;

bool is_final(const std::string& status) {
  return status == "COMPLETED" || status == "FAILED" || status == "CANCELLED";
}

/// Shows one job's changes.
class viewer {
public:
  explicit viewer(const client_session& session) : session_(session) {
    // nop
  }

  void show(const ordered_json& job, const std::string& text) {
    if (session_.json) {
      session_.print_json(text);
      std::cout.flush();
      return check_output();
    }
    const auto& out = session_.out;
    auto status = harmless(text_of(job, "status"));
    const auto progress = job.value("progress", ordered_json::object());
    auto percent = static_cast<int>(number_of(progress, "percent"));
    auto message = text_of(job, "error_message");
    if (message.empty())
      message = text_of(progress, "message");
    if (message.empty())
      message = text_of(job, "reason");
    auto tail = ' ' + fitted(std::to_string(percent), 3, true) + " %  "
      + harmless(message);
    auto head = fitted(status, 10);
    if (out.is_terminal) {
      // Written over by the next one.
      auto used = 10 + 1 + bar_width;
      if (out.width > used)
        tail = cut_to(tail, out.width - used - 1);
      std::cout << "\r\x1b[K"
                << painted(head, tint_of_status(status), out.colours) << ' '
                << bar(percent, bar_width, out.utf8) << tail;
      open_line_ = true;
    } else {
      std::cout << harmless(shown_time(text_of(job, "updated_at"))) << ' '
                << head << tail << '\n';
    }
    std::cout.flush();
    check_output();
  }

  void end_line() {
    if (open_line_)
      std::cout << std::endl;
    open_line_ = false;
  }

  void note(const std::string& what) {
    end_line();
    std::cerr << "reeve: " << what << std::endl;
  }

private:
  // Nobody is left to show it to.
  static void check_output() {
    if (!std::cout)
      throw api_error(0, exit_failed, "the output cannot be written");
  }

  const client_session& session_;
  bool open_line_ = false;
};

ordered_json follow(
  const client_session& session, const std::string& id,
  const std::function<void(const ordered_json&, const std::string&)>& show,
  const std::function<void(const std::string&)>& note) {
  auto path = "/api/jobs/" + path_segment(id) + "/events";
  ordered_json newest;
  double shown = 0;
  auto pause = first_pause;
  auto heard = clock_type::now();
  auto on_event = [&](const std::string& type, const std::string& data) {
    if (type != "job")
      return true;
    auto job = parsed(data);
    heard = clock_type::now();
    pause = first_pause;
    // A stream begins with what is now: after a cut that may be known.
    auto version = number_of(job, "version");
    if (version > shown || shown == 0) {
      shown = version;
      newest = std::move(job);
      show(newest, data);
    }
    return !is_final(text_of(newest, "status"));
  };
  for (;;) {
    try {
      if (session.api.follow(path, on_event))
        return newest;
      // The stream was open a moment ago, however quiet.
      heard = std::max(heard, clock_type::now() - longest_absence / 2);
    } catch (const api_error& err) {
      // One that never was there is not waited for.
      auto away = err.code() == exit_unreachable || err.status() / 100 == 5;
      if (shown == 0 || !away || clock_type::now() > heard + longest_absence)
        throw;
    }
    if (pause == first_pause)
      note("the node went away; trying again");
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, longest_pause);
  }
}

} // namespace

exit_code code_of_end(const ordered_json& job) {
  return text_of(job, "status") == "COMPLETED" ? exit_ok : exit_job_failed;
}

int watch(const client_session& session, const std::string& id) {
  viewer view{session};
  auto job = follow(
    session, id,
    [&](const ordered_json& now, const std::string& text) {
      view.show(now, text);
    },
    [&](const std::string& what) { view.note(what); });
  view.end_line();
  return code_of_end(job);
}

ordered_json wait_for_end(const client_session& session,
                          const std::string& id) {
  return follow(
    session, id, [](const ordered_json&, const std::string&) {},
    [](const std::string&) {});
}

} // namespace reeve
