// persistence/postgres_listen.hpp -- hears of jobs that other sessions add.
#pragma once

#include "persistence/job_store.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace reeve {

/// How a listener makes sure that it would hear something.
struct postgres_probe {
  /// It announces something to itself after this long without news.
  std::chrono::milliseconds interval{5'000};
  /// Within this time it must have heard that, and any answer.
  std::chrono::milliseconds deadline{5'000};
};

/// A connection of its own that listens on `reeve_queue`. Its `wait` throws
/// `store_unavailable` also when the connection looks well but brings nothing
/// any more: the peer vanished, or a pooler gave the server's end of it to
/// somebody else. What `announcer` signed is its own news: it wakes nobody.
/// `conninfo` is libpq's keyword/value form. Throws `store_unavailable`.
std::unique_ptr<wake_source> make_postgres_wake_source(
  const std::string& conninfo, std::string announcer,
  postgres_probe probe = {});

} // namespace reeve
