// cli/keys.cpp -- makes, lists and revokes API keys in the store itself, beside
// a running node or without one.
#include "cli/keys.hpp"

#include "actors/gateway/rfc3339.hpp"
#include "cli/serve.hpp"
#include "cli/store_command.hpp"
#include "config/options.hpp"
#include "persistence/digest.hpp"
#include "persistence/text.hpp"
#include "persistence/uuid.hpp"

#include <openssl/rand.h>

#include <iomanip>
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

int list(job_store& store) {
  std::cout << std::left << std::setw(38) << "ID" << std::setw(10) << "ROLE"
            << std::setw(20) << "USER" << std::setw(26) << "CREATED"
            << std::setw(26) << "REVOKED"
            << "NAME\n";
  for (const auto& key : store.list_api_keys())
    std::cout << std::left << std::setw(38) << key.id << std::setw(10)
              << key.role << std::setw(20) << key.user_id.value_or("-")
              << std::setw(26) << to_rfc3339(key.created_at) << std::setw(26)
              << (key.revoked_at ? to_rfc3339(*key.revoked_at) : "-")
              << key.name << '\n';
  return exit_ok;
}

int revoke(job_store& store, const std::string& id) {
  if (store.revoke_api_key(id)) {
    std::cerr << "revoked\n";
    return exit_ok;
  }
  std::cerr << "reeve: no key in force has the id '" << id << "'\n";
  return exit_failed;
}

} // namespace

void add_keys_command(CLI::App& app,
                      const std::vector<std::string>& environment,
                      std::function<int()>& chosen) {
  auto* keys = app.add_subcommand("keys", "Create, list and revoke API keys");
  keys->require_subcommand(1);
  keys->footer("Further options are those of a node, above all "
               "--database.url=…");
  auto made = std::make_shared<new_key>();
  auto* make = keys->add_subcommand("create", "Print a new key, once");
  make->allow_extras();
  make->add_option("--name", made->name, "for people")->required();
  make->add_option("--role", made->role, "operator or client")
    ->required()
    ->check(CLI::IsMember({"operator", "client"}));
  make->add_option("--user", made->user, "whose jobs a client sees and makes");
  make->callback([&chosen, &environment, make, made] {
    chosen = [&environment, make, made] {
      return with_store(make->remaining(), environment,
                        [&](job_store& store) { return create(store, *made); });
    };
  });
  auto* show = keys->add_subcommand("list", "All keys, without their secrets");
  show->allow_extras();
  show->callback([&chosen, &environment, show] {
    chosen = [&environment, show] {
      return with_store(show->remaining(), environment, list);
    };
  });
  auto id = std::make_shared<std::string>();
  auto* drop = keys->add_subcommand("revoke", "End a key's validity");
  drop->allow_extras();
  drop->add_option("id", *id, "as `keys list` shows it")->required();
  drop->callback([&chosen, &environment, drop, id] {
    chosen = [&environment, drop, id] {
      return with_store(drop->remaining(), environment,
                        [&](job_store& store) { return revoke(store, *id); });
    };
  });
}

} // namespace reeve
