// persistence/sqlite_store.cpp -- a batch of writes as one transaction.
#include "persistence/sqlite_store.hpp"

#include "persistence/sqlite_writer.hpp"

#include <algorithm>
#include <numeric>

namespace reeve {

namespace {

// Within one batch jobs come in first and are claimed last: `write` lists its
// alternatives in this order.
std::vector<size_t> in_order(const std::vector<write_entry>& batch) {
  std::vector<size_t> result(batch.size());
  std::iota(result.begin(), result.end(), size_t{0});
  std::stable_sort(result.begin(), result.end(), [&](size_t a, size_t b) {
    return batch[a].what.index() < batch[b].what.index();
  });
  return result;
}

write_answer apply_alone(sqlite_connection& db, sqlite_writer& writer,
                         const write_entry& entry) {
  sqlite_savepoint savepoint{db};
  try {
    auto result = writer.apply(entry);
    writer.store_counts();
    savepoint.keep();
    return result;
  } catch (const SQLite::Exception& err) {
    if (!is_refused_value(err))
      throw;
    writer.drop_counts();
    return refusal{refusal_code::invalid_argument, err.what()};
  }
}

} // namespace

timestamp system_time() {
  return std::chrono::floor<std::chrono::microseconds>(
    std::chrono::system_clock::now());
}

sqlite_store::sqlite_store(std::string path, wall_clock clock)
  : path_(std::move(path)), clock_(std::move(clock)) {
  reconnect();
}

std::string_view sqlite_store::backend() const {
  return "sqlite";
}

void sqlite_store::reconnect() {
  translated([&] {
    connection_.reset();
    // The file may be another one by now.
    cards_ = {};
    connection_.emplace(path_);
  });
}

sqlite_connection& sqlite_store::connection() {
  if (!connection_)
    throw store_unavailable("sqlite: not connected");
  return *connection_;
}

std::vector<write_answer> sqlite_store::apply(
  const std::vector<write_entry>& batch) {
  if (batch.empty())
    return {};
  return translated([&] {
    try {
      return apply_once(batch, false);
    } catch (const SQLite::Exception& err) {
      if (!is_refused_value(err))
        throw;
    } catch (const needs_savepoints&) {
      // Rolled back.
    }
    // Some write is at fault: find out which, at the price of a savepoint a
    // write.
    return apply_once(batch, true);
  });
}

std::vector<write_answer> sqlite_store::apply_once(
  const std::vector<write_entry>& batch, bool each_alone) {
  auto& db = connection();
  std::vector<write_answer> result(batch.size());
  sqlite_transaction transaction{db, "BEGIN IMMEDIATE"};
  db.check_file();
  // The clock is read when the lock is held: times grow with the commits.
  sqlite_writer writer{db, clock_(), each_alone};
  for (auto i : in_order(batch))
    result[i] =
      each_alone ? apply_alone(db, writer, batch[i]) : writer.apply(batch[i]);
  writer.store_counts();
  transaction.commit();
  return result;
}

} // namespace reeve
