// tests/unit/processors/command.test.cpp -- jobs done by real programs, well
// and badly behaved ones.
#define CAF_SUITE processors.command

#include "processors/command.hpp"

#include "processors/child_process.hpp"
#include "tests/unit/processors/fake_context.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

using namespace reeve;
using namespace std::literals;

namespace {

using clock_type = std::chrono::steady_clock;

size_t open_descriptors() {
  size_t result = 0;
  for ([[maybe_unused]] const auto& x :
       std::filesystem::directory_iterator{"/proc/self/fd"})
    ++result;
  return result;
}

bool has_children() {
  return waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD;
}

// Gone, or a zombie that init has not looked at yet.
bool is_dead(pid_t pid) {
  std::ifstream file{"/proc/" + std::to_string(pid) + "/stat"};
  std::string text{std::istreambuf_iterator<char>{file}, {}};
  auto state = text.rfind(") ");
  return state == std::string::npos || text[state + 2] == 'Z';
}

bool dies_soon(pid_t pid) {
  for (auto end = clock_type::now() + 5s; clock_type::now() < end;) {
    if (is_dead(pid))
      return true;
    std::this_thread::yield();
  }
  return false;
}

struct fixture {
  fixture() : context("THUMBNAIL", "target-1"), before(open_descriptors()) {
    context.job_.payload = {{"size", 64}};
    options.grace = 300ms;
  }

  ~fixture() {
    // Whatever a program did: nothing of it is left here.
    CHECK(!has_children());
    CHECK_EQ(open_descriptors(), before);
  }

  outcome run(std::vector<std::string> argv) {
    options.argv = std::move(argv);
    command uut{options};
    return context.run(uut);
  }

  outcome sh(const std::string& script) {
    return run({"sh", "-c", script});
  }

  outcome python(const std::string& script) {
    return run({REEVE_PYTHON3, "-c", script});
  }

  // Stops the job once the program has said that it is ready.
  outcome sh_until_ready(const std::string& script) {
    context.on_progress = [this](int percent, const std::string& text) {
      if (percent == 1)
        context.source.request_stop();
      else
        pids.push_back(std::stoi(text));
      stopped_at = clock_type::now();
    };
    return sh(script);
  }

  test::fake_context context;
  size_t before;
  command_options options;
  std::vector<pid_t> pids;
  clock_type::time_point stopped_at;
};

} // namespace

CAF_TEST_FIXTURE_SCOPE(command_tests, fixture)

CAF_TEST(a program gets the job and gives its result) {
  context.job_.run = 6;
  auto got = sh("cat");
  REQUIRE(got.kind == run_outcome::completed);
  CHECK(got.result
        == nlohmann::json({{"id", context.job_.id},
                           {"type", "THUMBNAIL"},
                           {"target_id", "target-1"},
                           {"user_id", "user-1"},
                           {"payload", {{"size", 64}}},
                           {"attempt", 1},
                           {"run", 7}}));
}

CAF_TEST(output that is no JSON is text) {
  CHECK(sh("echo done").result == nlohmann::json({{"output", "done"}}));
  CHECK(sh("printf 'two\\nlines'").result
        == nlohmann::json({{"output", "two\nlines"}}));
  CHECK(sh("printf '{\"a\":'").result
        == nlohmann::json({{"output", "{\"a\":"}}));
  CHECK(sh(":").result.is_null());
  CHECK(sh("echo").result.is_null());
  auto got = sh("printf '\\377'");
  CHECK(got.kind == run_outcome::failed_permanently);
  CHECK_EQ(got.message, "The program's output is neither JSON nor UTF-8 text");
  CHECK(sh("printf 'a\\000b'").kind == run_outcome::failed_permanently);
}

CAF_TEST(exit codes say whose fault it was) {
  for (auto [code, kind] : {std::pair{1, run_outcome::failed},
                            {2, run_outcome::failed},
                            {64, run_outcome::failed_permanently},
                            {65, run_outcome::failed_permanently},
                            {75, run_outcome::throttled},
                            {127, run_outcome::failed},
                            {255, run_outcome::failed}}) {
    auto got = sh("echo ignored; echo oops >&2; exit " + std::to_string(code));
    CHECK(got.kind == kind);
    CHECK_EQ(got.message,
             "The program ended with exit code " + std::to_string(code)
               + ": oops");
  }
  CHECK_EQ(sh("exit 3").message, "The program ended with exit code 3");
}

CAF_TEST(a signal is named) {
  auto got = sh("kill -9 $$");
  CHECK(got.kind == run_outcome::failed);
  CHECK_EQ(got.message, "The program was ended by signal 9 (Killed)");
  got = sh("echo bad >&2; kill -SEGV $$");
  CHECK_EQ(got.message,
           "The program was ended by signal 11 (Segmentation fault): bad");
  got = python("import os, signal; os.kill(os.getpid(), signal.SIGRTMIN + 2)");
  CHECK(got.kind == run_outcome::failed);
}

CAF_TEST(lines on standard error are progress) {
  CHECK(sh("echo 'progress 10 reading' >&2; echo 'progress 100 done' >&2;"
           "printf 'progress 50' >&2")
          .kind
        == run_outcome::completed);
  CHECK_EQ(context.reports,
           (std::vector<test::fake_context::report>{
             {10, "reading"}, {100, "done"}, {50, ""}}));
}

CAF_TEST(lines that are no progress belong to the error) {
  auto got =
    sh("for x in 'progress' 'progress x y' 'progress 101 z' "
       "'progress -1 z' 'progress 1.5 z' 'Progress 5 z' "
       "'progress 99999999999999 z'; do echo \"$x\" >&2; done; exit 1");
  CHECK(context.reports.empty());
  CHECK_NE(got.message.find("progress\nprogress x y\nprogress 101 z\n"
                            "progress -1 z\nprogress 1.5 z\nProgress 5 z\n"
                            "progress 99999999999999 z"),
           std::string::npos);
}

CAF_TEST(the error has the last lines only) {
  auto got = sh("i=0; while [ $i -lt 1000 ]; do echo \"line $i\" >&2;"
                "i=$((i+1)); done; printf 'caf\\303\\251 \\377' >&2; exit 1");
  CHECK(got.kind == run_outcome::failed);
  CHECK(got.message.size() < 2'200);
  CHECK(got.message.ends_with("line 999\ncaf\u00e9 \uFFFD"));
  CHECK_EQ(got.message.find("line 0\n"), std::string::npos);
}

CAF_TEST(an endless line without an end is cut) {
  auto got = python("import sys; sys.stderr.write('x' * 20_000_000);"
                    "sys.exit(1)");
  CHECK(got.kind == run_outcome::failed);
  CHECK(got.message.size() < 5'000);
  // Cut, it is still one line: what follows it is another.
  python("import sys; sys.stderr.write('progress 7 ' + 'y' * 100_000 + "
         "'\\nprogress 8 z\\n')");
  REQUIRE_EQ(context.reports.size(), 2u);
  CHECK(context.reports[0].second.size() < 300);
  CHECK_EQ(context.reports[1], (test::fake_context::report{8, "z"}));
}

CAF_TEST(an endless output is stopped at its limit) {
  options.max_output_bytes = 1'000;
  CHECK(sh("head -c 1000 /dev/zero | tr '\\0' x").kind
        == run_outcome::completed);
  CHECK(sh("head -c 1001 /dev/zero | tr '\\0' x").kind
        == run_outcome::failed_permanently);
  options.max_output_bytes = 1024 * 1024;
  // It ends by no means but being killed.
  auto got = python("import sys, signal\n"
                    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                    "try:\n"
                    "  while True: sys.stdout.write('x' * 1_000_000)\n"
                    "except OSError: pass\n"
                    "while True: signal.pause()");
  CHECK(got.kind == run_outcome::failed_permanently);
  CHECK_EQ(got.message,
           "The program wrote more than 1048576 bytes and was killed");
}

CAF_TEST(a program need not read the job) {
  context.job_.payload = {{"text", std::string(1'000'000, 'x')}};
  CHECK(sh("exec <&-; echo 1").kind == run_outcome::completed);
  CHECK(sh("echo 1").kind == run_outcome::completed);
  CHECK(sh("head -c 10 >/dev/null; echo 1").kind == run_outcome::completed);
  // One that reads and writes at once sees no deadlock.
  auto got = sh("cat");
  CHECK(got.kind == run_outcome::failed_permanently
        || got.result["payload"]["text"].get<std::string>().size()
          == 1'000'000);
  options.max_output_bytes = 2'000'000;
  got = sh("tee /dev/stderr");
  REQUIRE(got.kind == run_outcome::completed);
  CHECK(got.result["payload"] == context.job_.payload.value());
}

CAF_TEST(a program that closes its streams is waited for) {
  auto got = sh("exec <&- >&- 2>&-; sleep 0.2; exit 7");
  CHECK_EQ(got.message, "The program ended with exit code 7");
}

CAF_TEST(a background process does not outlive its job) {
  auto got = sh("sleep 1000 & echo $!");
  REQUIRE(got.kind == run_outcome::completed);
  CHECK(dies_soon(got.result.get<pid_t>()));
}

CAF_TEST(a process that left the group holds nobody up) {
  auto begin = clock_type::now();
  auto got = python("import os, sys, time\n"
                    "if os.fork() == 0:\n"
                    "  os.setsid()\n"
                    "  time.sleep(1000)\n"
                    "time.sleep(0.1)\n"
                    "sys.stdout.write(str(1))\n");
  CHECK(clock_type::now() - begin < 3s);
  REQUIRE(got.kind == run_outcome::completed);
  CHECK(got.result == nlohmann::json(1));
}

CAF_TEST(a stop ends the program and all that it started) {
  auto got = sh_until_ready("sleep 1000 & echo \"progress 0 $!\" >&2;"
                            "echo \"progress 0 $$\" >&2;"
                            "echo 'progress 1 ready' >&2; wait");
  CHECK(got.kind == run_outcome::cancelled);
  CHECK(clock_type::now() - stopped_at < 1s);
  REQUIRE_EQ(pids.size(), 2u);
  CHECK(dies_soon(pids[0]));
  CHECK(dies_soon(pids[1]));
}

CAF_TEST(who ignores SIGTERM is killed after the grace) {
  auto got =
    sh_until_ready("trap '' TERM; sleep 1000 & echo 'progress 1 x' >&2;"
                   "while :; do wait; sleep 0.05; done");
  CHECK(got.kind == run_outcome::cancelled);
  auto took = clock_type::now() - stopped_at;
  CHECK(took >= 300ms);
  CHECK(took < 300ms + 1s);
}

CAF_TEST(a cancel ends any program within a second) {
  options.grace = command_options{}.grace;
  auto got =
    sh_until_ready("trap '' TERM; sleep 1000 & echo 'progress 1 x' >&2;"
                   "while :; do wait; sleep 0.05; done");
  CHECK(got.kind == run_outcome::cancelled);
  CHECK(clock_type::now() - stopped_at < 1s);
  CHECK(child_command{}.grace == options.grace);
}

CAF_TEST(a stop ends in time though a grandchild holds the pipes) {
  options.argv = {REEVE_PYTHON3, "-c",
                  "import os, signal, sys, time\n"
                  "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                  "if os.fork() == 0:\n"
                  "  os.setsid()\n"
                  "  time.sleep(30)\n"
                  "  os._exit(0)\n"
                  "sys.stderr.write('progress 1 ready\\n')\n"
                  "sys.stderr.flush()\n"
                  "time.sleep(30)\n"};
  context.on_progress = [this](int, const std::string&) {
    context.source.request_stop();
    stopped_at = clock_type::now();
  };
  command uut{options};
  CHECK(context.run(uut).kind == run_outcome::cancelled);
  CHECK(clock_type::now() - stopped_at < 300ms + 1s);
}

CAF_TEST(a suspended program can be stopped) {
  auto got = sh_until_ready("echo 'progress 1 x' >&2; kill -STOP $$");
  CHECK(got.kind == run_outcome::cancelled);
  CHECK(clock_type::now() - stopped_at < 300ms + 1s);
}

CAF_TEST(a stopped run starts nothing) {
  context.source.request_stop();
  auto mark = std::filesystem::temp_directory_path()
    / ("reeve-command-" + std::to_string(getpid()));
  CHECK(sh("touch " + mark.string()).kind == run_outcome::cancelled);
  CHECK(!std::filesystem::exists(mark));
}

CAF_TEST(an exception of the node leaves no process) {
  context.on_progress = [](int, const std::string&) {
    throw std::runtime_error("the node has had enough");
  };
  CHECK_THROWS_AS(sh("echo 'progress 1 x' >&2; sleep 1000"),
                  std::runtime_error);
}

CAF_TEST(the environment is clean) {
  setenv("REEVE_DATABASE_URL", "postgresql://secret", 1);
  setenv("ANTHROPIC_API_KEY", "secret", 1);
  setenv("PASSED_ON", "yes", 1);
  setenv("TZ", "UTC", 1);
  options.environment = {"PASSED_ON", "NOT_SET"};
  auto got = sh("env");
  REQUIRE(got.kind == run_outcome::completed);
  auto text = "\n" + got.result["output"].get<std::string>() + "\n";
  CHECK_EQ(text.find("secret"), std::string::npos);
  CHECK_EQ(text.find("NOT_SET"), std::string::npos);
  for (const auto& line :
       {"PASSED_ON=yes"s, "TZ=UTC"s, "REEVE_JOB_ID=" + context.job_.id,
        "REEVE_JOB_TYPE=THUMBNAIL"s, "REEVE_ATTEMPT=1"s})
    CHECK_NE(text.find("\n" + line + "\n"), std::string::npos);
  CHECK_NE(text.find("\nPATH="), std::string::npos);
  unsetenv("REEVE_DATABASE_URL");
  unsetenv("ANTHROPIC_API_KEY");
  unsetenv("PASSED_ON");
  unsetenv("TZ");
}

CAF_TEST(no descriptor of the node reaches the program) {
  // As a socket would be that somebody opened without close-on-exec.
  int leaky[2];
  REQUIRE_EQ(pipe(leaky), 0);
  auto high = fcntl(leaky[0], F_DUPFD, 900);
  auto got = python("import os, json\n"
                    "print(json.dumps(sorted(int(x) for x in "
                    "os.listdir('/proc/self/fd'))))");
  close(leaky[0]);
  close(leaky[1]);
  close(high);
  // The fourth is that of the listing itself.
  CHECK(got.result == nlohmann::json({0, 1, 2, 3}));
}

CAF_TEST(signals are as a program expects them) {
  struct sigaction ignore {};
  struct sigaction old {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &old);
  sigset_t blocked;
  sigset_t mask;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &mask);
  auto got = sh("grep -E 'SigBlk|SigIgn' /proc/self/status");
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  sigaction(SIGPIPE, &old, nullptr);
  CHECK_EQ(got.result["output"].get<std::string>(),
           "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000");
}

CAF_TEST(a program runs where it is told to) {
  options.working_directory = "/";
  CHECK(sh("pwd").result == nlohmann::json({{"output", "/"}}));
  options.working_directory.clear();
  CHECK(
    sh("pwd").result
    == nlohmann::json({{"output", std::filesystem::current_path().string()}}));
}

CAF_TEST(arguments are not a shells) {
  auto got = run({"printf", "%s|", "a b", "$HOME", "*", "", "'"});
  CHECK(got.result == nlohmann::json({{"output", "a b|$HOME|*||'|"}}));
}

CAF_TEST(a program that is gone or no program fails) {
  auto path = std::filesystem::temp_directory_path()
    / ("reeve-command-" + std::to_string(getpid()));
  std::ofstream{path} << "neither a script nor an executable\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  options.argv = {path.string()};
  command uut{options};
  auto got = context.run(uut);
  CHECK(got.kind == run_outcome::failed);
  CHECK_EQ(got.message,
           "The program did not start: " + path.string()
             + ": Exec format error");
  std::filesystem::remove(path);
  got = context.run(uut);
  CHECK(got.kind == run_outcome::failed);
  CHECK(got.message.ends_with("No such file or directory"));
}

CAF_TEST(many programs at once do not hold each other up) {
  // Each would see the others' pipes if these leaked into it.
  std::vector<std::thread> threads;
  std::vector<run_outcome> kinds(8, run_outcome::lost);
  for (auto& kind : kinds)
    threads.emplace_back([&kind, options = options]() mutable {
      options.argv = {"sh", "-c", "cat >/dev/null; echo 1"};
      command uut{options};
      test::fake_context context{"THUMBNAIL", "target-1"};
      for (int i = 0; i < 5; ++i)
        kind = context.run(uut).kind;
    });
  for (auto& thread : threads)
    thread.join();
  CHECK_EQ(kinds, std::vector<run_outcome>(8, run_outcome::completed));
}

CAF_TEST(what cannot run is refused at start) {
  using argv = std::vector<std::string>;
  for (const auto& bad :
       {argv{}, argv{""}, argv{"no-such-program-anywhere"}, argv{"/no/such"},
        argv{"/"}, argv{"/etc/passwd"}, argv{"sh", "a\0b"s}}) {
    options.argv = bad;
    CHECK_THROWS_AS(command{options}, std::invalid_argument);
  }
  options.argv = {"sh"};
  options.working_directory = "/no/such/directory";
  CHECK_THROWS_AS(command{options}, std::invalid_argument);
  options.working_directory.clear();
  for (auto bad : {"REEVE_DATABASE_URL", "", "A=B"}) {
    options.environment = {bad};
    CHECK_THROWS_AS(command{options}, std::invalid_argument);
  }
}

CAF_TEST_FIXTURE_SCOPE_END()
