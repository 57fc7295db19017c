// persistence/postgres_listen.cpp -- LISTEN, with proof that it works.
#include "persistence/postgres_listen.hpp"

#include "persistence/uuid.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <libpq-fe.h>
#include <poll.h>

namespace reeve {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// What other programs and nodes announce on.
constexpr std::string_view queue_channel = "reeve_queue";

// Programs that commit behind the one that announced for all of them: see
// reeve.announce(). Two halves of a key are how `pg_locks` shows it.
constexpr const char* in_flight_sql = R"(
  SELECT count(*) FROM pg_locks
  WHERE locktype = 'advisory' AND classid = 1919247734
    AND objid = 1694498819 AND objsubid = 1
    AND database = (SELECT oid FROM pg_database
                    WHERE datname = current_database()))";

// When to look for them after an announcement, and, while there are some, at
// most how long after each look.
constexpr milliseconds first_look{10};
constexpr milliseconds longest_pause{500};

struct deleter {
  void operator()(PGconn* x) const {
    PQfinish(x);
  }
  void operator()(PGresult* x) const {
    PQclear(x);
  }
  void operator()(PGnotify* x) const {
    PQfreemem(x);
  }
};

using connection_ptr = std::unique_ptr<PGconn, deleter>;
using result_ptr = std::unique_ptr<PGresult, deleter>;
using notify_ptr = std::unique_ptr<PGnotify, deleter>;

// libpq itself: libpqxx cannot send a query without waiting for its answer, and
// whoever calls `wait` must not hang with a peer that vanished.
class postgres_wake_source final : public wake_source {
public:
  postgres_wake_source(const std::string& conninfo, std::string announcer,
                       postgres_probe probe)
    : connection_(PQconnectdb(conninfo.c_str())),
      announcer_(std::move(announcer)),
      probe_(probe),
      own_channel_("reeve_probe_" + make_uuid().substr(19)) {
    std::ranges::replace(own_channel_, '-', '_');
    if (!connection_ || PQstatus(connection_.get()) != CONNECTION_OK)
      fail();
    // Otherwise libpq prints notices.
    PQsetNoticeProcessor(
      connection_.get(), [](void*, const char*) {}, nullptr);
    // In one transaction: a pooler cannot tear the two apart.
    const auto sql = "SET client_min_messages = warning; LISTEN reeve_queue;"
                     " LISTEN "
      + own_channel_;
    check(result_ptr{PQexec(connection_.get(), sql.c_str())});
    last_news_ = clock::now();
  }

  bool wait(milliseconds longest) override {
    const auto deadline = clock::now() + longest;
    for (;;) {
      if (receive())
        return true;
      const auto now = clock::now();
      act(now);
      if (now >= deadline)
        return false;
      sleep(std::min(deadline, next_act()));
    }
  }

private:
  enum class query : uint8_t {
    none,
    probe,
    in_flight,
  };

  // Whatever came in. True when there may be new jobs.
  bool receive() {
    if (PQconsumeInput(connection_.get()) == 0)
      fail();
    auto result = read_answer();
    while (notify_ptr news{PQnotifies(connection_.get())}) {
      last_news_ = clock::now();
      if (news->relname == own_channel_) {
        probed_at_.reset();
      } else if (news->relname == queue_channel && !is_own(*news)) {
        look_at_ = last_news_ + first_look;
        pause_ = first_look;
        result = true;
      }
    }
    return result;
  }

  bool is_own(const PGnotify& x) const {
    return x.extra == announcer_;
  }

  // True when somebody was still on the way, or may have been.
  bool read_answer() {
    auto result = false;
    while (asked_ != query::none && PQisBusy(connection_.get()) == 0) {
      result_ptr answer{PQgetResult(connection_.get())};
      if (!answer) {
        asked_ = query::none;
        break;
      }
      check(answer);
      if (asked_ != query::in_flight)
        continue;
      const std::string_view count = PQgetvalue(answer.get(), 0, 0);
      pause_ = std::min(2 * pause_, longest_pause);
      // Those that were seen are looked for again; those that were not are done
      // by now, and this is the last look for them.
      if (count != "0" && !look_at_)
        look_at_ = clock::now() + pause_;
      result = true;
    }
    return result;
  }

  // Sends what is due.
  void act(clock::time_point now) {
    const auto late = [&](std::optional<clock::time_point> since) {
      return since && now >= *since + probe_.deadline;
    };
    if (late(probed_at_))
      throw store_unavailable("postgresql: the listening session hears nothing"
                              " of what it announces itself: the connection is"
                              " dead, or a pooler shares it");
    if (asked_ != query::none) {
      if (late(asked_at_))
        throw store_unavailable("postgresql: the listening session gets no"
                                " answer");
      flush();
    } else if (look_at_ && now >= *look_at_) {
      look_at_.reset();
      ask(query::in_flight, in_flight_sql);
    } else if (!probed_at_ && now >= last_news_ + probe_.interval) {
      probed_at_ = now;
      ask(query::probe, ("NOTIFY " + own_channel_).c_str());
    }
  }

  clock::time_point next_act() const {
    auto result =
      probed_at_ ? *probed_at_ + probe_.deadline : last_news_ + probe_.interval;
    if (asked_ != query::none)
      return std::max(result, asked_at_ + probe_.deadline);
    return look_at_ ? std::min(result, *look_at_) : result;
  }

  void ask(query what, const char* sql) {
    if (PQsetnonblocking(connection_.get(), 1) != 0
        || PQsendQuery(connection_.get(), sql) == 0)
      fail();
    asked_ = what;
    asked_at_ = clock::now();
    flush();
  }

  void flush() {
    const auto left = PQflush(connection_.get());
    if (left < 0)
      fail();
    unsent_ = left > 0;
  }

  // Until something can be read, or written when something is to be.
  void sleep(clock::time_point until) {
    const auto now = clock::now();
    // Rounded up, so that it does not spin at the end.
    const auto rest =
      std::chrono::ceil<milliseconds>(std::max(until, now) - now);
    pollfd what{PQsocket(connection_.get()), POLLIN, 0};
    if (unsent_)
      what.events |= POLLOUT;
    if (poll(&what, 1, static_cast<int>(rest.count())) < 0 && errno != EINTR)
      throw store_unavailable(std::string{"postgresql: poll: "}
                              + std::strerror(errno));
  }

  void check(const result_ptr& x) const {
    const auto status = PQresultStatus(x.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
      fail();
  }

  [[noreturn]] void fail() const {
    std::string text =
      connection_ ? PQerrorMessage(connection_.get()) : "out of memory";
    text = text.substr(0, text.find('\n'));
    throw store_unavailable("postgresql: " + text);
  }

  connection_ptr connection_;
  std::string announcer_;
  postgres_probe probe_;
  std::string own_channel_;
  clock::time_point last_news_;
  /// Of a probe that was not heard yet.
  std::optional<clock::time_point> probed_at_;
  query asked_ = query::none;
  clock::time_point asked_at_;
  bool unsent_ = false;
  /// When to look for programs that are still committing, and how long to pause
  /// after that.
  std::optional<clock::time_point> look_at_;
  milliseconds pause_ = first_look;
};

} // namespace

std::unique_ptr<wake_source> make_postgres_wake_source(
  const std::string& conninfo, std::string announcer, postgres_probe probe) {
  return std::make_unique<postgres_wake_source>(conninfo, std::move(announcer),
                                                probe);
}

} // namespace reeve
