// cli/manual.cpp -- `reeve manual`: reeve(1), from the commands themselves.
#include "cli/manual.hpp"

#include <unicode/utf8.h>

#include <cstdio>
#include <iostream>

namespace reeve {

namespace {

constexpr const char* date = "2026-11-30";

// No line of `text` may begin like a request, and nothing be read as one.
std::string roff(const std::string& text) {
  std::string result;
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  const auto size = static_cast<int64_t>(text.size());
  for (int64_t i = 0; i < size;) {
    UChar32 c;
    U8_NEXT(bytes, i, size, c);
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else if (c == '\'') {
      result += "\\(aq";
    } else if (c == '`') {
      result += "\\(ga";
    } else if (c < 0 || c > 0x7E) {
      char name[16];
      std::snprintf(name, sizeof(name), "\\[u%04X]",
                    static_cast<unsigned>(c < 0 ? 0xFFFD : c));
      result += name;
    } else {
      result += static_cast<char>(c);
    }
  }
  return result.starts_with('.') ? "\\&" + result : result;
}

void tagged(std::string& out, const std::string& tag, const std::string& text) {
  out += ".TP\n" + tag + '\n' + roff(text) + '\n';
}

std::string synopsis(const command_info& x) {
  std::string result = "reeve";
  for (const auto& word : x.path)
    result += ' ' + word;
  for (const auto& argument : x.arguments) {
    auto name = argument.name + (argument.repeated ? " ..." : "");
    result += ' ' + (argument.required ? name : '[' + name + ']');
  }
  return result;
}

void add_options(std::string& out, const command_info& x) {
  for (const auto& argument : x.arguments)
    tagged(out, ".I " + roff(argument.name), argument.description);
  for (const auto& option : x.options) {
    if (option.name == "--help")
      continue;
    auto tag = "\\fB" + roff(option.name) + "\\fR";
    if (option.takes_value)
      tag += "=\\fIVALUE\\fR";
    auto text = option.description;
    std::string choices;
    for (const auto& choice : option.choices)
      choices += (choices.empty() ? "" : ", ") + choice;
    if (!choices.empty())
      text += ": " + choices;
    tagged(out, tag, text);
  }
  if (x.takes_node_options)
    out += ".PP\nTakes the settings of a node, too: see\n.BR \"NODE "
           "OPTIONS\" .\n";
}

void add_command(std::string& out, const command_info& x) {
  // A group has nothing to tell that its commands do not.
  if (!x.children.empty())
    return;
  out += ".SS " + roff(synopsis(x)) + '\n' + roff(x.description) + ".\n";
  add_options(out, x);
}

constexpr const char* exit_status = R"(.SH EXIT STATUS
.TP
0
Done; a node has drained.
.TP
1
Failed at run time, or the node refused (a conflict, for example).
.TP
2
The command line, the configuration or the request cannot be used.
.TP
3
There is no such job, type or key.
.TP
4
The node, or the database, cannot be reached.
.TP
5
The job that was waited for ended FAILED or CANCELLED.
.TP
6
The key is missing or wrong, or its role may not do this.
.TP
7
.B reeve check
found that migrations are outstanding.
)";

constexpr const char* environment = R"(.SH ENVIRONMENT
.TP
.B REEVE_URL
Where the node is, for the commands that speak to one.
.TP
.B REEVE_API_KEY
The key that these commands send. It is no option, since every user of the
machine sees those.
.TP
.B NO_COLOR
When it is not empty, there are no colours. There are none either where the
output is no terminal.
.TP
.B REEVE_CONFIG_FILE
The configuration file, as
.B \-\-config\-file
names it.
.TP
.BR REEVE_HTTP_PORT ", ..."
Settings of a node: the name in capitals, other characters as underscores.
.SH FILES
.TP
.I /etc/reeve/reeve.conf
The configuration of the packaged service, each setting with its default.
.TP
.I /etc/default/reeve
Its environment: the place for keys of providers.
.TP
.I /var/lib/reeve
Its working directory, with the SQLite database unless there is another.
.SH EXAMPLES
A job, followed to its end:
.PP
.EX
reeve enqueue CARD_ANALYSIS \-\-target=SCRAP_ID \-\-wait
.EE
.PP
What an outage of a provider left behind, looked at and run again:
.PP
.EX
reeve errors
reeve jobs retry \-\-error=\(aq%503%\(aq \-\-dry\-run
reeve jobs retry \-\-error=\(aq%503%\(aq
.EE
.PP
A deployment that changes the database before the node starts:
.PP
.EX
reeve check \-\-config\-file=/etc/reeve/reeve.conf
test $? = 7 && reeve migrate \-\-config\-file=/etc/reeve/reeve.conf
.EE
)";

} // namespace

std::string manual_page(const command_info& root, const std::string& version) {
  std::string out = ".\\\" Made by `reeve manual`.\n";
  out += std::string{".TH REEVE 1 "} + date + " \"reeve " + version
    + "\" \"User Commands\"\n";
  out += ".SH NAME\nreeve \\- durable background\\-job runtime\n"
         ".SH SYNOPSIS\n.B reeve\n.I COMMAND\n[\\fIOPTION\\fR ...]\n"
         ".SH DESCRIPTION\n"
         "A node takes jobs over HTTP, keeps them in PostgreSQL or SQLite, and "
         "runs them: it retries,\nreports progress and recovers after a "
         "crash.\n.B reeve serve\nis such a node. Most other commands speak to "
         "a running one;\n.BR migrate \", \" check \", \" keys\nand\n.B "
         "accounts\nwork "
         "on the database itself.\n.PP\n"
         "Tables are for people: their columns may change. With\n"
         ".B \\-\\-json\nthe commands print what the API answers.\n";
  out += ".SH OPTIONS\n";
  add_options(out, root);
  tagged(out, ".B \\-\\-help", "what a command is for, and its options");
  out += ".SH COMMANDS\n";
  for (const auto* x : flattened(root))
    if (!x->path.empty())
      add_command(out, *x);
  out += ".SH NODE OPTIONS\nLater ones win: the file, the environment, the "
         "command line. Durations carry a unit\n(250ms, 30s, 5min, 1h).\n"
         ".B reeve serve \\-\\-print\\-config\nshows what is in effect.\n";
  for (const auto& [key, description] : node_options())
    tagged(out, "\\fB" + roff("--" + key) + "\\fR=\\fIVALUE\\fR", description);
  return out + exit_status + environment;
}

void add_manual_command(const command_line& to, const CLI::App& root,
                        const std::string& version) {
  auto* command = to.app.add_subcommand(
    "manual", "Print the manual page: reeve manual | man -l -");
  command->callback([&root, version, &chosen = to.chosen] {
    chosen = [&root, version] {
      std::cout << manual_page(describe(root), version);
      return exit_ok;
    };
  });
}

} // namespace reeve
