// cli/keys.cpp -- makes, lists and revokes API keys in the store itself, beside
// a running node or without one.
#include "cli/keys.hpp"

#include "actors/gateway/rfc3339.hpp"
#include "cli/cells.hpp"
#include "cli/store_command.hpp"
#include "cli/table.hpp"
#include "config/options.hpp"
#include "persistence/digest.hpp"
#include "persistence/text.hpp"
#include "persistence/uuid.hpp"

#include <openssl/rand.h>
#include <unistd.h>

#include <iostream>
#include <memory>

namespace reeve {

namespace {

/// 256 random bits: nobody guesses them, whatever the hash.
std::string make_secret() {
  unsigned char bytes[32];
  if (RAND_bytes(bytes, sizeof(bytes)) != 1)
    throw std::runtime_error("no random bytes to be had");
  static constexpr char digits[] = "0123456789abcdef";
  std::string result = "reeve_";
  for (auto byte : bytes) {
    result += digits[byte >> 4];
    result += digits[byte & 15];
  }
  return result;
}

struct new_key {
  std::string name;
  std::string role;
  std::string user;
};

int create(job_store& store, const new_key& x) {
  if ((x.role == "client") == x.user.empty())
    throw bad_option(x.role == "client"
                       ? "a client's key needs --user: whose jobs it sees"
                       : "an operator's key has no --user: it sees all jobs");
  if (x.name.empty() || !is_storable(x.name) || !is_storable(x.user))
    throw bad_option("--name and --user must be UTF-8 text");
  auto secret = make_secret();
  api_key key;
  key.id = make_uuid();
  key.name = x.name;
  key.role = x.role;
  if (!x.user.empty())
    key.user_id = x.user;
  key.digest = sha256_hex(secret);
  store.add_api_key(key);
  std::cerr << "key " << key.id << " (" << key.role
            << "), shown this once; send it as Authorization: Bearer KEY\n";
  std::cout << secret << '\n';
  return exit_ok;
}

ordered_json json_of(const api_key& x) {
  auto or_null = [](const auto& text) {
    return text ? ordered_json(*text) : ordered_json(nullptr);
  };
  return {{"id", x.id},
          {"role", x.role},
          {"user_id", or_null(x.user_id)},
          {"name", x.name},
          {"created_at", to_rfc3339(x.created_at)},
          {"revoked_at",
           x.revoked_at ? ordered_json(to_rfc3339(*x.revoked_at))
                        : ordered_json(nullptr)}};
}

int list(job_store& store, bool json,
         const std::vector<std::string>& environment) {
  if (json) {
    auto keys = ordered_json::array();
    for (const auto& key : store.list_api_keys())
      keys.push_back(json_of(key));
    std::cout << harmless_json(ordered_json{{"keys", keys}}.dump()) << '\n';
    return exit_ok;
  }
  table out{{{"ID"},
             {"ROLE"},
             {"USER", false, true},
             {"CREATED (UTC)"},
             {"REVOKED (UTC)"},
             {"NAME", false, true}}};
  for (const auto& key : store.list_api_keys())
    out.add({{key.id},
             {key.role},
             {key.user_id.value_or("")},
             {shown_time(to_rfc3339(key.created_at)), tint::faint},
             {key.revoked_at ? shown_time(to_rfc3339(*key.revoked_at)) : "",
              tint::bad},
             {key.name}});
  auto where = terminal_of(STDOUT_FILENO, environment);
  std::cout << out.rendered(where.width, where.colours);
  return exit_ok;
}

int revoke(job_store& store, const std::string& id) {
  if (store.revoke_api_key(id)) {
    std::cerr << "revoked\n";
    return exit_ok;
  }
  std::cerr << "reeve: no key in force has the id '" << harmless(id) << "'\n";
  return exit_not_found;
}

} // namespace

void add_keys_command(const command_line& to) {
  auto* keys = to.app.add_subcommand("keys",
                                     "Create, list and revoke API keys, in the "
                                     "database itself");
  keys->require_subcommand(1);
  auto made = std::make_shared<new_key>();
  auto* make = keys->add_subcommand("create", "Print a new key, once");
  make->add_option("--name", made->name, "for people")->required();
  make->add_option("--role", made->role, "operator or client")
    ->required()
    ->check(CLI::IsMember({"operator", "client"}));
  make->add_option("--user", made->user, "whose jobs a client sees and makes");
  run_on_store(to, make,
               [made](job_store& store) { return create(store, *made); });
  auto json = std::make_shared<bool>(false);
  auto* show = keys->add_subcommand("list", "All keys, without their secrets");
  show->add_flag("--json", *json, "print JSON, for programs");
  run_on_store(to, show,
               [json, &environment = to.environment](job_store& store) {
                 return list(store, *json, environment);
               });
  auto id = std::make_shared<std::string>();
  auto* drop = keys->add_subcommand("revoke", "End a key's validity");
  drop->add_option("ID", *id, "as `keys list` shows it")->required();
  run_on_store(to, drop, [id](job_store& store) { return revoke(store, *id); });
}

} // namespace reeve
