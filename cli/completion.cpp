// cli/completion.cpp -- `reeve completion`: scripts that complete words.
//
// Each script walks the words before the cursor down the tree of commands, then
// offers what stands there.
#include "cli/completion.hpp"

#include <iostream>

namespace reeve {

namespace {

std::string joined(const std::vector<std::string>& xs, const char* between) {
  std::string result;
  for (const auto& x : xs)
    result += (result.empty() ? "" : between) + x;
  return result;
}

/// `/jobs/list`; empty for the program itself.
std::string place_of(const command_info& x) {
  return x.path.empty() ? "" : '/' + joined(x.path, "/");
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (auto c : text)
    result += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return result + '\'';
}

// All but the program itself, as alternatives of a `case`.
std::string all_places(const command_info& root, const char* between) {
  std::vector<std::string> result;
  for (const auto* x : flattened(root))
    if (!x->path.empty())
      result.push_back(place_of(*x));
  return joined(result, between);
}

struct word {
  std::string text;
  std::string description;
};

// What may stand next: commands, options, settings of a node.
std::vector<word> words_at(const command_info& x) {
  std::vector<word> result;
  for (const auto& child : x.children)
    result.push_back({child.path.back(), child.description});
  for (const auto& option : x.options)
    result.push_back({option.name, option.description});
  if (x.takes_node_options)
    for (const auto& [key, description] : node_options())
      result.push_back({"--" + key + '=', description});
  return result;
}

} // namespace

std::string bash_completion(const command_info& root) {
  std::string result =
    "# bash completion for reeve; made by `reeve completion bash`.\n"
    "_reeve() {\n"
    "  local cur=${COMP_WORDS[COMP_CWORD]} prev= place= words= i\n"
    "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
    "    case $place/${COMP_WORDS[i]} in\n"
    "      "
    + all_places(root, "|")
    + ") place=$place/${COMP_WORDS[i]} ;;\n"
      "    esac\n"
      "  done\n"
      "  # Bash splits --option=value into three words.\n"
      "  prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
      "  [[ $cur == = ]] && cur=\n"
      "  [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
      "  case \"$place $prev\" in\n";
  for (const auto* x : flattened(root))
    for (const auto& option : x->options)
      if (option.takes_value)
        result += "    " + quoted(place_of(*x) + ' ' + option.name)
          + ") COMPREPLY=($(compgen "
          + (option.choices.empty()
               ? "-f"
               : "-W " + quoted(joined(option.choices, " ")))
          + " -- \"$cur\")); return ;;\n";
  result += "  esac\n  case $place in\n";
  for (const auto* x : flattened(root)) {
    std::vector<std::string> words;
    for (const auto& word : words_at(*x))
      words.push_back(word.text);
    result += "    " + quoted(place_of(*x))
      + ") words=" + quoted(joined(words, " ")) + " ;;\n";
  }
  return result
    + "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
      "  [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null\n"
      "  return 0\n"
      "}\n"
      "complete -F _reeve reeve\n";
}

std::string zsh_completion(const command_info& root) {
  std::string result =
    "#compdef reeve\n"
    "# zsh completion for reeve; made by `reeve completion zsh`.\n"
    "_reeve() {\n"
    "  local place= i\n"
    "  local -a items\n"
    "  for ((i = 2; i < CURRENT; ++i)); do\n"
    "    case $place/$words[i] in\n"
    "      ("
    + all_places(root, "|")
    + ") place=$place/$words[i] ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$place $words[CURRENT-1]\" in\n";
  for (const auto* x : flattened(root))
    for (const auto& option : x->options)
      if (option.takes_value)
        result += "    (" + quoted(place_of(*x) + ' ' + option.name) + ") "
          + (option.choices.empty()
               ? std::string{"_files"}
               : "compadd -- " + joined(option.choices, " "))
          + "; return ;;\n";
  result += "  esac\n  case $place in\n";
  for (const auto* x : flattened(root)) {
    result += "    (" + quoted(place_of(*x)) + ") items=(\n";
    for (const auto& word : words_at(*x))
      result += "      " + quoted(word.text + ':' + word.description) + '\n';
    result += "    ) ;;\n";
  }
  return result
    + "  esac\n"
      "  _describe -o reeve items\n"
      "}\n"
      "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
      "  _reeve \"$@\"\n"
      "else\n"
      "  compdef _reeve reeve\n"
      "fi\n";
}

std::string fish_completion(const command_info& root) {
  std::string result =
    "# fish completion for reeve; made by `reeve completion fish`.\n"
    "function __reeve_at\n"
    "    set -l place ''\n"
    "    for word in (commandline -opc)[2..-1]\n"
    "        switch $place/$word\n"
    "            case "
    + all_places(root, " ")
    + "\n"
      "                set place $place/$word\n"
      "        end\n"
      "    end\n"
      "    test \"$place\" = \"$argv[1]\"\n"
      "end\n"
      "complete -c reeve -f\n";
  auto at = [](const command_info& x) {
    return "complete -c reeve -n \"__reeve_at '" + place_of(x) + "'\" ";
  };
  // Inside single quotes fish knows \' and \\.
  auto fish_quoted = [](const std::string& text) {
    std::string result = "'";
    for (auto c : text)
      result +=
        (c == '\'' || c == '\\' ? std::string{'\\'} : std::string{}) + c;
    return result + '\'';
  };
  for (const auto* x : flattened(root)) {
    for (const auto& child : x->children)
      result += at(*x) + "-a " + child.path.back() + " -d "
        + fish_quoted(child.description) + '\n';
    for (const auto& option : x->options) {
      auto is_long = option.name.starts_with("--");
      result += at(*x) + (is_long ? "-l " : "-s ")
        + option.name.substr(is_long ? 2 : 1);
      if (!option.choices.empty())
        result += " -x -a " + fish_quoted(joined(option.choices, " "));
      else if (option.takes_value)
        result += " -r -F";
      result += " -d " + fish_quoted(option.description) + '\n';
    }
    if (x->takes_node_options)
      for (const auto& [key, description] : node_options())
        result +=
          at(*x) + "-l " + key + " -r -F -d " + fish_quoted(description) + '\n';
  }
  return result;
}

void add_completion_commands(const command_line& to, const CLI::App& root) {
  auto* group = to.app.add_subcommand("completion",
                                      "Print a script that "
                                      "completes words");
  group->require_subcommand(1);
  auto add = [&](const char* shell, const char* use, auto print) {
    auto* command = group->add_subcommand(shell, use);
    command->callback([print, &root, &chosen = to.chosen] {
      chosen = [print, &root] {
        std::cout << print(describe(root));
        return exit_ok;
      };
    });
  };
  add("bash", "For bash: eval \"$(reeve completion bash)\"", bash_completion);
  add("zsh", "For zsh: a file _reeve in $fpath, or eval it", zsh_completion);
  add("fish", "For fish: reeve completion fish | source", fish_completion);
}

} // namespace reeve
