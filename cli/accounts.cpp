// cli/accounts.cpp -- puts tokens on accounts, takes them off, and shows where
// they went.
#include "cli/accounts.hpp"

#include "actors/gateway/rfc3339.hpp"
#include "cli/cells.hpp"
#include "cli/store_command.hpp"
#include "cli/table.hpp"
#include "config/options.hpp"
#include "persistence/text.hpp"
#include "persistence/uuid.hpp"

#include <unistd.h>

#include <charconv>
#include <iostream>
#include <memory>

namespace reeve {

namespace {

constexpr size_t longest_user = 200;
constexpr size_t longest_note = 500;
constexpr int64_t most_tokens = 1'000'000'000'000;
constexpr uint32_t shown_entries = 50;

struct grant_request {
  std::string user;
  std::string tokens;
  std::string note;
};

void check_user(const std::string& user) {
  if (user.empty() || user.size() > longest_user || !is_storable(user))
    throw bad_option("USER must be UTF-8 text of 1 to "
                     + std::to_string(longest_user) + " bytes");
}

int64_t parse_tokens(const std::string& text) {
  int64_t result = 0;
  const auto* last = text.data() + text.size();
  auto [end, err] = std::from_chars(text.data(), last, result);
  if (err != std::errc{} || end != last || result == 0 || result < -most_tokens
      || result > most_tokens)
    throw bad_option("TOKENS must be a whole number, not 0, from "
                     + std::to_string(-most_tokens) + " to "
                     + std::to_string(most_tokens));
  return result;
}

int grant(job_store& store, const grant_request& x) {
  check_user(x.user);
  grant_write what;
  what.id = make_uuid();
  what.user_id = x.user;
  what.amount = parse_tokens(x.tokens);
  if (x.note.size() > longest_note || !is_storable(x.note))
    throw bad_option("--note must be UTF-8 text of at most "
                     + std::to_string(longest_note) + " bytes");
  what.note = x.note;
  auto answers = store.apply({{what, false}});
  if (const auto* refused = std::get_if<refusal>(&answers.at(0))) {
    std::cerr << "reeve: " << harmless(refused->message) << '\n';
    return exit_failed;
  }
  std::cerr << "balance of " << harmless(x.user) << ":\n";
  std::cout << std::get<granted>(answers.at(0)).balance << '\n';
  return exit_ok;
}

ordered_json json_of(const account& x) {
  auto entries = ordered_json::array();
  for (const auto& entry : x.entries)
    entries.push_back(
      {{"created_at", to_rfc3339(entry.created_at)},
       {"kind", to_string(entry.kind)},
       {"amount", entry.amount},
       {"job_id",
        entry.job_id ? ordered_json(*entry.job_id) : ordered_json(nullptr)},
       {"note", entry.note}});
  return {{"balance", x.balance}, {"entries", std::move(entries)}};
}

int show(job_store& store, const std::string& user, bool json,
         const std::vector<std::string>& environment) {
  check_user(user);
  auto found = store.find_account(user, shown_entries);
  if (json) {
    std::cout << harmless_json(json_of(found).dump()) << '\n';
    return exit_ok;
  }
  std::cout << "balance " << found.balance << '\n';
  if (found.entries.empty())
    return exit_ok;
  table out{{{"WHEN (UTC)"},
             {"KIND"},
             {"AMOUNT", true},
             {"JOB"},
             {"NOTE", false, true}}};
  for (const auto& entry : found.entries)
    out.add({{shown_time(to_rfc3339(entry.created_at)), tint::faint},
             {std::string{to_string(entry.kind)}},
             {std::to_string(entry.amount)},
             {entry.job_id.value_or("-")},
             {entry.note}});
  auto where = terminal_of(STDOUT_FILENO, environment);
  std::cout << out.rendered(where.width, where.colours);
  return exit_ok;
}

} // namespace

void add_accounts_command(const command_line& to) {
  auto* accounts = to.app.add_subcommand(
    "accounts", "Grant tokens and show balances, in the database itself");
  accounts->require_subcommand(1);
  auto asked = std::make_shared<grant_request>();
  auto* give = accounts->add_subcommand("grant", "Print the new balance");
  give->add_option("USER", asked->user, "whose account")->required();
  give
    ->add_option("TOKENS", asked->tokens,
                 "how many to add; negative: to take off, never below 0")
    ->required();
  give->add_option("--note", asked->note, "kept in the ledger");
  run_on_store(to, give,
               [asked](job_store& store) { return grant(store, *asked); });
  auto user = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  auto* look =
    accounts->add_subcommand("show", "The balance and its newest changes");
  look->add_option("USER", *user, "whose account")->required();
  look->add_flag("--json", *json, "print JSON, for programs");
  run_on_store(to, look,
               [user, json, &environment = to.environment](job_store& store) {
                 return show(store, *user, *json, environment);
               });
}

} // namespace reeve
