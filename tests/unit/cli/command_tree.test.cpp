// tests/unit/cli/command_tree.test.cpp -- commands as data, in completions and
// in the manual.
#define CAF_SUITE cli.command_tree

#include "cli/completion.hpp"
#include "cli/manual.hpp"

#include <caf/test/dsl.hpp>

using namespace reeve;

namespace {

struct fixture {
  CLI::App app{"A program.", "reeve"};
  std::string status;
  std::string id;
  std::vector<std::string> ids;
  bool flag = false;

  fixture() {
    auto* group = app.add_subcommand("jobs", "A group");
    auto* list = group->add_subcommand("list", "It's a list");
    list->add_option("--status", status, "in this state")
      ->check(CLI::IsMember({"NEW", "OLD"}));
    list->add_flag("-a,--all", flag, ".all of them\\n");
    list->add_option("ID", ids, "ids")->required();
    auto* node = app.add_subcommand("serve", "A node");
    node->prefix_command();
  }

  const command_info& at(const command_info& root, size_t index) {
    return *flattened(root).at(index);
  }
};

} // namespace

CAF_TEST_FIXTURE_SCOPE(command_tree_tests, fixture)

CAF_TEST(the tree has what was declared) {
  auto root = describe(app);
  auto all = flattened(root);
  CAF_REQUIRE_EQUAL(all.size(), 4u);
  auto& list = at(root, 2);
  CAF_CHECK_EQUAL(list.path, (std::vector<std::string>{"jobs", "list"}));
  CAF_REQUIRE_EQUAL(list.arguments.size(), 1u);
  CAF_CHECK(list.arguments[0].required);
  CAF_CHECK(list.arguments[0].repeated);
  CAF_REQUIRE_EQUAL(list.options.size(), 3u);
  CAF_CHECK_EQUAL(list.options[1].name, "--status");
  CAF_CHECK(list.options[1].takes_value);
  CAF_CHECK_EQUAL(list.options[1].choices,
                  (std::vector<std::string>{"NEW", "OLD"}));
  CAF_CHECK_EQUAL(list.options[2].name, "--all");
  CAF_CHECK(!list.options[2].takes_value);
  CAF_CHECK(!list.takes_node_options);
  CAF_CHECK(at(root, 3).takes_node_options);
}

CAF_TEST(scripts quote what they are given) {
  auto root = describe(app);
  CAF_CHECK(zsh_completion(root).find("'list:It'\\''s a list'")
            != std::string::npos);
  CAF_CHECK(fish_completion(root).find("-d 'It\\'s a list'")
            != std::string::npos);
  CAF_CHECK(bash_completion(root).find("compgen -W 'NEW OLD'")
            != std::string::npos);
}

CAF_TEST(no text of the manual is a request) {
  auto page = manual_page(describe(app), "1.2");
  CAF_CHECK(page.find("\n\\&.all of them\\en\n") != std::string::npos);
  CAF_CHECK(page.find("\n.SS reeve jobs list ID ...\n") != std::string::npos);
  CAF_CHECK(page.find("\\fB\\-\\-status\\fR=\\fIVALUE\\fR")
            != std::string::npos);
}

CAF_TEST_FIXTURE_SCOPE_END()
