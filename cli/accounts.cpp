// cli/accounts.cpp -- puts tokens on accounts, takes them off, and shows where
// they went.
#include "cli/accounts.hpp"

#include "actors/gateway/rfc3339.hpp"
#include "cli/serve.hpp"
#include "cli/store_command.hpp"
#include "config/options.hpp"
#include "persistence/text.hpp"
#include "persistence/uuid.hpp"

#include <charconv>
#include <iomanip>
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
    std::cerr << "reeve: " << refused->message << '\n';
    return exit_failed;
  }
  std::cerr << "balance of " << x.user << ":\n";
  std::cout << std::get<granted>(answers.at(0)).balance << '\n';
  return exit_ok;
}

int show(job_store& store, const std::string& user) {
  check_user(user);
  auto found = store.find_account(user, shown_entries);
  std::cout << "balance " << found.balance << '\n';
  for (const auto& entry : found.entries)
    std::cout << std::left << std::setw(26) << to_rfc3339(entry.created_at)
              << std::setw(8) << to_string(entry.kind) << std::right
              << std::setw(12) << entry.amount << "  " << std::left
              << std::setw(38) << entry.job_id.value_or("-") << entry.note
              << '\n';
  return exit_ok;
}

} // namespace

void add_accounts_command(CLI::App& app,
                          const std::vector<std::string>& environment,
                          std::function<int()>& chosen) {
  auto* accounts =
    app.add_subcommand("accounts", "Grant tokens and show balances");
  accounts->require_subcommand(1);
  accounts->footer("Further options are those of a node, above all "
                   "--database.url=…");
  auto asked = std::make_shared<grant_request>();
  auto* give = accounts->add_subcommand("grant", "Print the new balance");
  give->allow_extras();
  give->add_option("USER", asked->user, "whose account")->required();
  give
    ->add_option("TOKENS", asked->tokens,
                 "how many to add; negative: to take off, never below 0")
    ->required();
  give->add_option("--note", asked->note, "kept in the ledger");
  give->callback([&chosen, &environment, give, asked] {
    chosen = [&environment, give, asked] {
      return with_store(give->remaining(), environment,
                        [&](job_store& store) { return grant(store, *asked); });
    };
  });
  auto user = std::make_shared<std::string>();
  auto* look = accounts->add_subcommand("show",
                                        "The balance and its newest "
                                        "changes");
  look->allow_extras();
  look->add_option("USER", *user, "whose account")->required();
  look->callback([&chosen, &environment, look, user] {
    chosen = [&environment, look, user] {
      return with_store(look->remaining(), environment,
                        [&](job_store& store) { return show(store, *user); });
    };
  });
}

} // namespace reeve
