// tests/unit/config/options.test.cpp -- where settings come from, and what is
// said about wrong ones.
#define CAF_SUITE config.options

#include "config/options.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

using strings = std::vector<std::string>;

struct fixture {
  std::filesystem::path directory;

  fixture() {
    auto pattern =
      (std::filesystem::temp_directory_path() / "reeve-XXXXXX").string();
    CAF_REQUIRE(mkdtemp(pattern.data()) != nullptr);
    directory = pattern;
  }

  ~fixture() {
    std::filesystem::remove_all(directory);
  }

  std::string file(const std::string& text) const {
    auto path = directory / "reeve.conf";
    std::ofstream{path} << text;
    return path.string();
  }

  // All from a file, plus what else there is.
  std::unique_ptr<options> load_file(const std::string& text,
                                     strings arguments = {},
                                     const strings& environment = {}) const {
    arguments.insert(arguments.begin(), "--config-file=" + file(text));
    return load(arguments, environment);
  }

  static std::unique_ptr<options> load(const strings& arguments,
                                       const strings& environment = {}) {
    auto result = std::make_unique<options>();
    result->load(arguments, environment);
    return result;
  }

  // What is said about settings that cannot be used.
  static std::string complaint(const strings& arguments,
                               const strings& environment = {}) {
    try {
      load(arguments, environment);
    } catch (const bad_option& err) {
      return err.what();
    }
    return "no complaint";
  }

  std::string file_complaint(const std::string& text) const {
    return complaint({"--config-file=" + file(text)});
  }
};

bool contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos)
    return true;
  CAF_MESSAGE("'" << part << "' is not in: " << text);
  return false;
}

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

// -- sources ------------------------------------------------------------------

SCENARIO("without any source all settings have their defaults") {
  auto xs = load({});
  CHECK_EQ(xs->workers, 3u);
  CHECK_EQ(xs->http.address, "127.0.0.1");
  CHECK_EQ(xs->http.port, 8080u);
  CHECK_EQ(xs->database_url, "sqlite:./reeve.db");
  CHECK_EQ(xs->auth_mode, "off");
  CHECK(xs->lease == 30s);
  CHECK(!xs->node_name.empty());
  CHECK(xs->warnings().empty());
}

SCENARIO("the command line beats the environment, and that beats the file") {
  std::string text = "http.port = 1001\nworkers = 11\nnode.lease = 11s\n";
  strings environment{"REEVE_HTTP_PORT=1002", "REEVE_WORKERS=12"};
  strings arguments{"--http.port=1003"};
  auto xs = load_file(text, arguments, environment);
  CHECK_EQ(xs->http.port, 1003u);
  CHECK_EQ(xs->workers, 12u);
  CHECK(xs->lease == 11s);
}

SCENARIO("every option has a variable") {
  auto names = options{}.environment_names();
  CHECK_EQ(names.at("REEVE_HTTP_PORT"), "http.port");
  CHECK_EQ(names.at("REEVE_DATABASE_URL"), "database.url");
  CHECK_EQ(names.at("REEVE_WORKERS"), "workers");
  CHECK_EQ(names.at("REEVE_TYPES_CARD_ANALYSIS_TIMEOUT"),
           "types.CARD_ANALYSIS.timeout");
  THEN("no two options share one") {
    CHECK_EQ(names.size(), options{}.descriptions().size());
  }
}

SCENARIO("a file has dotted keys, groups, or both") {
  auto xs = load_file("# a comment\n"
                      "workers = 5 # behind a value\n"
                      "http.port = 9090\n"
                      "http.address = \"127.0.0.2\"\n"
                      "http {\n"
                      "  max-connections = 77\n"
                      "  idle-timeout = 5s\n"
                      "}\n"
                      "types.CARD_ANALYSIS.timeout = 90s\n"
                      "types {\n"
                      "  CARD_ANALYSIS {\n"
                      "    max-attempts = 7\n"
                      "  }\n"
                      "}\n");
  CHECK_EQ(xs->workers, 5u);
  CHECK_EQ(xs->http.port, 9090u);
  CHECK_EQ(xs->http.address, "127.0.0.2");
  CHECK_EQ(xs->http.max_connections, 77u);
  CHECK(xs->http.idle_timeout == 5s);
  CHECK(xs->type("CARD_ANALYSIS").timeout == 90s);
  CHECK_EQ(xs->type("CARD_ANALYSIS").max_attempts, 7u);
  CHECK_EQ(xs->type("unknown").max_attempts, 3u);
}

SCENARIO("lists and texts with odd characters survive the file") {
  auto xs = load_file(
    "http.allowed-origins = [\"https://a.example\", \"http://b.example\"]\n"
    "database.url = \"postgresql://u:p%40ss@host/db?a=1&b=#2\"\n");
  CHECK_EQ(xs->http.allowed_origins,
           (strings{"https://a.example", "http://b.example"}));
  CHECK_EQ(xs->database_url, "postgresql://u:p%40ss@host/db?a=1&b=#2");
}

SCENARIO("an empty text is empty wherever it comes from") {
  CHECK_EQ(load_file("analysis.api-key = \"\"")->analysis.api_key, "");
  CHECK_EQ(load_file("analysis.api-key = ''")->analysis.api_key, "");
  CHECK_EQ(load({"--analysis.api-key="})->analysis.api_key, "");
  CHECK_EQ(load({}, {"REEVE_ANALYSIS_API_KEY="})->analysis.api_key, "");
}

SCENARIO("a type that only the settings name is a type") {
  auto xs = load_file("types.SEND_MAIL.processor = \"webhook\"\n"
                      "types {\n  MAKE-PDF {\n"
                      "    processor = \"command\"\n"
                      "    command = [\"/bin/cat\", \"-\"]\n  }\n}\n",
                      {"--types.SEND_MAIL.url=http://127.0.0.1:1/x",
                       "--types.SEND_MAIL.addresses=any"},
                      {"REEVE_TYPES_SEND_MAIL_SECRET=s3cr3t"});
  CHECK_EQ(xs->types().size(), 7u);
  CHECK_EQ(xs->type("SEND_MAIL").url, "http://127.0.0.1:1/x");
  CHECK_EQ(xs->type("SEND_MAIL").secret, "s3cr3t");
  CHECK_EQ(xs->type("SEND_MAIL").addresses, "any");
  CHECK_EQ(xs->type("MAKE-PDF").addresses, "public");
  CHECK_EQ(xs->type("MAKE-PDF").command, (strings{"/bin/cat", "-"}));
  CHECK(xs->print().find("s3cr3t") == std::string::npos);
}

SCENARIO("a type of the settings must be complete") {
  CHECK(contains(complaint({"--types.X.timeout=1s"}), "types.X.processor"));
  CHECK(contains(complaint({"--types.X.processor=magic"}), "webhook"));
  CHECK(contains(complaint({"--types.X.processor=webhook"}), "types.X.url"));
  CHECK(
    contains(complaint({"--types.X.processor=webhook", "--types.X.url=http://x",
                        "--types.X.addresses=private"}),
             "public or any"));
  CHECK(
    contains(complaint({"--types.X.processor=command"}), "types.X.command"));
  CHECK(contains(complaint({"--types.X.procesor=command"}), "did you mean"));
  CHECK(contains(complaint({"--types.a b.processor=command"}), "a name of"));
  CHECK(contains(complaint({"--types.CARD_ANALYSIS.url=http://x"}),
                 "there is no option"));
}

SCENARIO("the file may be named by the environment") {
  auto path = file("workers = 9\n");
  CHECK_EQ(load({}, {"REEVE_CONFIG_FILE=" + path})->workers, 9u);
  AND("the command line names another one") {
    auto other = (directory / "other.conf").string();
    std::ofstream{other} << "workers = 8\n";
    CHECK_EQ(
      load({"--config-file=" + other}, {"REEVE_CONFIG_FILE=" + path})->workers,
      8u);
  }
}

SCENARIO("what print() says can be read again") {
  auto first = load(
    {"--http.port=4711", "--types.CARD_ANALYSIS.timeout=90s",
     "--http.allowed-origins=[\"https://a.example\"]", "--retry.factor=2.5",
     "--node.name=n-1", "--types.HOOK.processor=webhook",
     "--types.HOOK.url=http://x", "--types.HOOK.addresses=any",
     "--types.RUN.processor=command", "--types.RUN.command=[\"a\", \"b c\"]"});
  auto second = load_file(first->print());
  CHECK_EQ(second->http.port, 4711u);
  CHECK(second->type("CARD_ANALYSIS").timeout == 90s);
  CHECK_EQ(second->http.allowed_origins, strings{"https://a.example"});
  CHECK_EQ(first->print(), second->print());
}

// -- wrong settings -----------------------------------------------------------

SCENARIO("a wrong key is named with the nearest right one") {
  auto typo = complaint({"--http.prot=80"});
  CHECK(contains(typo, "http.prot"));
  CHECK(contains(typo, "'http.port'"));
  auto in_file = file_complaint("databse.url = \"sqlite:x\"\n");
  CHECK(contains(in_file, "databse.url"));
  CHECK(contains(in_file, "'database.url'"));
  CHECK(contains(in_file, "reeve.conf"));
}

SCENARIO("a wrong value is named with what is expected") {
  for (std::string value : {"many", "-1", "70000", "8080x", ""}) {
    auto text = complaint({"--http.port=" + value});
    CHECK(contains(text, "--http.port"));
    CHECK(contains(text, "not valid"));
  }
  auto in_file = file_complaint("http.port = \"eighty\"\n");
  CHECK(contains(in_file, "http.port"));
  auto in_variable = complaint({}, {"REEVE_HTTP_PORT=eighty"});
  CHECK(contains(in_variable, "REEVE_HTTP_PORT"));
}

SCENARIO("a duration needs a unit") {
  CHECK(contains(complaint({"--node.lease=30"}), "--node.lease"));
  CHECK(contains(complaint({}, {"REEVE_NODE_LEASE=30"}), "REEVE_NODE_LEASE"));
  CHECK(contains(file_complaint("node.lease = 30\n"), "node.lease"));
  CHECK(load({"--node.lease=1500ms"})->lease == 1500ms);
  CHECK(load({"--node.lease=2min"})->lease == 2min);
}

SCENARIO("an argument that is no option is refused") {
  CHECK(contains(complaint({"serve"}), "serve"));
  CHECK(contains(complaint({"-p"}), "-p"));
  CHECK(contains(complaint({"--http.port"}), "needs a value"));
}

SCENARIO("a file that is missing or broken is refused by its name") {
  auto missing = (directory / "missing.conf").string();
  CHECK(contains(complaint({"--config-file=" + missing}), missing));
  CHECK(contains(complaint({}, {"REEVE_CONFIG_FILE=" + missing}), missing));
  for (std::string text :
       {"workers 3\n", "= 3\n", "workers =\n", "http.address = \"open\n"})
    CHECK(contains(file_complaint(text), "reeve.conf"));
}

SCENARIO("a group that is not closed is refused, not dropped") {
  for (std::string text : {"http {\n  port = 80\n", "http {", "a {\n b {\n }\n",
                           "http.port = 80\nauth {\n  mode = \"api-key\""})
    CHECK(contains(file_complaint(text), "not closed"));
}

SCENARIO("values out of range are refused") {
  for (std::string argument : {"--workers=0",
                               "--workers=65",
                               "--node.lease=0s",
                               "--node.lease=-5s",
                               "--node.name=",
                               "--node.name=a#b",
                               "--retry.factor=0.5",
                               "--retry.factor=nan",
                               "--retry.jitter=2",
                               "--http.address=localhost",
                               "--http.max-body-bytes=1",
                               "--queue.poll-interval=0s",
                               "--analysis.provider=magic",
                               "--analysis.url=ftp://x",
                               "--auth.mode=none",
                               "--log.level=loud",
                               "--log.format=xml",
                               "--http.allowed-origins=[\"*\"]",
                               "--types.CARD_ANALYSIS.max-attempts=0",
                               "--text.provider=magic",
                               "--image.provider=magic",
                               "--text.concurrency=0",
                               "--image.url=ftp://x",
                               "--gate.breaker-failures=0",
                               "--san.time-zone=",
                               "--types.BOOK_GENERATION.concurrency=65"}) {
    auto key = argument.substr(2, argument.find('=') - 2);
    CHECK(contains(complaint({argument}), key));
  }
}

SCENARIO("a node without keys serves this machine only") {
  CHECK(contains(complaint({"--http.address=0.0.0.0"}), "auth.mode"));
  CHECK(contains(complaint({"--http.address=::"}), "auth.mode"));
  CHECK(contains(complaint({"--http.address=192.168.1.1"}), "auth.mode"));
  strings with_keys{"--http.address=0.0.0.0", "--auth.mode=api-key"};
  CHECK_EQ(complaint(with_keys), "no complaint");
  CHECK_EQ(complaint({"--http.address=::1"}), "no complaint");
  CHECK_EQ(complaint({"--http.address=127.9.9.9"}), "no complaint");
}

SCENARIO("a variable that names no option is a warning, not a failure") {
  auto xs = load({},
                 {"REEVE_HTTP_PROT=80", "PATH=/bin", "REEVE_PREFIX=/x",
                  "REEVE_URL=http://x", "REEVE_API_KEY=k"});
  REQUIRE_EQ(xs->warnings().size(), 1u);
  CHECK(contains(xs->warnings()[0], "REEVE_HTTP_PROT"));
  CHECK(contains(xs->warnings()[0], "REEVE_HTTP_PORT?"));
  CHECK_EQ(xs->http.port, 8080u);
}

// -- secrets and help ---------------------------------------------------------

SCENARIO("print() shows no secret") {
  std::string secret = "s3cr3t";
  for (std::string url :
       {"postgresql://user:s3cr3t@host/db", "postgres://user:s3cr3t@host",
        "postgresql://user:a@s3cr3t@host/db", "postgresql://:s3cr3t@host",
        "postgresql://host/db?password=s3cr3t",
        "postgresql://host/db?password=s3cr3t&sslmode=require",
        "postgresql://u@host/db?sslmode=require&password=s3cr3t"}) {
    auto text = load({"--database.url=" + url})->print();
    CHECK(text.find(secret) == std::string::npos);
    CHECK(contains(text, "host"));
  }
  auto xs = load({"--analysis.api-key=" + secret,
                  "--analysis.url=http://user:s3cr3t@host:8000"});
  auto text = xs->print();
  CHECK(text.find(secret) == std::string::npos);
  CHECK(contains(text, "analysis.api-key = \"***\""));
  THEN("an empty one is shown as empty") {
    CHECK(contains(load({})->print(), "analysis.api-key = \"\""));
  }
}

SCENARIO("complaints show no secret") {
  // Not the value, whatever is wrong with it.
  auto text = complaint({"--analysis.api-key=[s3cr3t"});
  CHECK(text.find("s3cr3t") == std::string::npos);
}

SCENARIO("every option has its help, and print() shows it") {
  options xs;
  CHECK(xs.descriptions().size() > 30);
  auto text = xs.print();
  for (const auto& [key, help] : xs.descriptions()) {
    CHECK(help.size() > 5);
    CHECK(contains(text, "# " + help + '\n' + key + " = "));
  }
}

END_FIXTURE_SCOPE()
