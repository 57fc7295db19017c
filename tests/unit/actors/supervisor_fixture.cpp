// tests/unit/actors/supervisor_fixture.cpp -- the mock children.
#include "supervisor_fixture.hpp"

#include <algorithm>

namespace reeve::test {

namespace {

using namespace std::chrono_literals;

// Notes start and end of a child.
template <class Handle>
Handle enroll(Handle x, const mock_node_ptr& node, const std::string& name) {
  node->actors[name] = caf::actor_cast<caf::actor>(x);
  node->events.push_back("start " + name);
  x->attach_functor([node, name, id = x.id()] {
    node->events.push_back("stop " + name);
    auto i = node->actors.find(name);
    if (i != node->actors.end() && i->second.id() == id)
      node->actors.erase(i);
    if (name == "db") {
      // As with a real one, its open answers are broken promises now.
      node->held_claims.clear();
      node->held_settles.clear();
    }
  });
  return x;
}

// Answers `status`, or keeps the asker waiting.
template <class Self>
auto status_of(Self* self, const mock_node_ptr& node, const std::string& name) {
  auto open =
    std::make_shared<std::vector<caf::typed_response_promise<actor_report>>>();
  return [=](status_atom) -> caf::result<actor_report> {
    auto promise = self->template make_response_promise<actor_report>();
    if (node->silent.contains(name)) {
      open->push_back(promise);
    } else {
      actor_report result;
      result.state = "mocked";
      result.messages = 7;
      promise.deliver(std::move(result));
    }
    return promise;
  };
}

void fail_when_absent(const mock_node_ptr& node, const std::string& name) {
  auto i = node->absent.find(name);
  if (i == node->absent.end() || i->second == 0)
    return;
  --i->second;
  throw store_unavailable("connection refused");
}

caf::error next_error(std::deque<caf::error>& errors) {
  if (errors.empty())
    return {};
  auto result = std::move(errors.front());
  errors.pop_front();
  return result;
}

event_hub_actor::behavior_type mock_hub(event_hub_actor::pointer self,
                                        mock_node_ptr node) {
  return {
    status_of(self, node, "event-hub"),
    [node](const committed_changes& x) { node->published.push_back(x.jobs); },
    [](watch_atom, const watch_filter&, const watcher_actor&) {
      watch_started result;
      result.newest = 99;
      return result;
    },
  };
}

db_actor::behavior_type mock_db(db_actor::pointer self, mock_node_ptr node) {
  return {
    [node](const enqueue_write& x) {
      ++node->enqueues;
      enqueued result;
      result.job.id = x.id;
      return result;
    },
    [node](const enqueue_batch_write&) {
      ++node->enqueues;
      return enqueued_batch{};
    },
    [](const cancel_write&) { return changed{}; },
    [](const retry_write&) { return changed{}; },
    [](const delete_scrap_write&) { return done{}; },
    [](const progress_write&) { return changed{}; },
    status_of(self, node, "db"),
    [self, node](const claim_write& x, bool repeated) -> caf::result<claimed> {
      node->events.push_back("claim");
      node->claims.emplace_back(x, repeated);
      if (auto err = next_error(node->claim_errors))
        return err;
      if (node->hold_claims) {
        auto promise = self->make_response_promise<claimed>();
        node->held_claims.push_back(promise);
        return promise;
      }
      claimed result;
      result.next_due_in = node->next_due_in;
      while (!node->queue.empty() && result.jobs.size() < x.limit) {
        result.jobs.push_back(std::move(node->queue.front()));
        node->queue.pop_front();
      }
      result.more = !node->queue.empty();
      return result;
    },
    [self, node](const settle_write& x, bool repeated) -> caf::result<changed> {
      node->events.push_back("settle");
      node->settles.emplace_back(x, repeated);
      if (auto err = next_error(node->settle_errors))
        return err;
      if (node->hold_settles) {
        auto promise = self->make_response_promise<changed>();
        node->held_settles.push_back(promise);
        return promise;
      }
      return changed{x.claimed};
    },
    [node](const heartbeat_write&) {
      ++node->renewals;
      if (node->leases)
        return renewed{*node->leases};
      renewed result;
      for (const auto& [name, x] : node->runs)
        result.leases.push_back({x.job.seq, x.job.run, false});
      return result;
    },
    [](const rescue_write&) { return rescued{}; },
    [node](flush_atom) {
      if (auto f = std::exchange(node->on_flush, {}))
        f();
    },
    [](reconnect_atom) {},
  };
}

query_actor::behavior_type mock_query(query_actor::pointer self,
                                      mock_node_ptr node) {
  return {
    [](find_atom, const std::string& id) {
      job result;
      result.id = id;
      return result;
    },
    [](find_atom, const job_filter&) { return job_list{}; },
    [](attempts_atom, const std::string&) { return attempt_list{}; },
    [](scrap_atom, const std::string&) { return scrap{}; },
    [](card_atom, const std::string&) { return knowledge_card{}; },
    [](cards_atom, const std::string&) { return card_list{}; },
    [](stats_atom) { return store_stats{}; },
    [](key_atom, const std::string&) { return api_key{}; },
    [](ready_atom) {},
    status_of(self, node, "query"),
  };
}

recovery_actor::behavior_type mock_recovery(recovery_actor::pointer self,
                                            mock_node_ptr node) {
  return {
    status_of(self, node, "recovery"),
    [node](sweep_atom) -> caf::result<uint32_t> {
      node->events.push_back("sweep");
      if (auto err = next_error(node->sweep_errors))
        return err;
      return 0u;
    },
    [](caf::tick_atom) {},
  };
}

scheduler_actor::behavior_type mock_scheduler(scheduler_actor::pointer self,
                                              mock_node_ptr node) {
  return {
    status_of(self, node, "scheduler"),
    [node](due_atom, int64_t delay) { node->due.push_back(delay); },
    [](caf::tick_atom, int64_t) {},
    [](wake_atom) {},
  };
}

job_actor::behavior_type mock_job(job_actor::pointer self, mock_node_ptr node,
                                  std::string name) {
  return {
    status_of(self, node, name),
    [node, name](run_atom, const assignment& x) {
      node->runs.emplace_back(name, x);
    },
    [node, name](interrupt_atom, int64_t seq, int64_t) {
      node->interrupts.emplace_back(name, seq);
    },
    [](const run_report&) {},
    [](const run_progress&) {},
    [](timeout_atom, uint64_t) {},
    [](flush_atom, uint64_t) {},
  };
}

gateway_actor::behavior_type mock_gateway(gateway_actor::pointer self,
                                          mock_node_ptr node) {
  return {
    status_of(self, node, "gateway"),
    [node](caf::get_atom) -> caf::result<uint16_t> {
      if (!node->port)
        return node->port.error();
      return *node->port;
    },
    [](drain_atom) {},
  };
}

} // namespace

// -- mock_node ----------------------------------------------------------------

size_t mock_node::count(const std::string& event) const {
  return static_cast<size_t>(std::count(events.begin(), events.end(), event));
}

size_t mock_node::position(const std::string& event) const {
  auto i = std::find(events.begin(), events.end(), event);
  if (i == events.end())
    CAF_FAIL("there was no event " << event);
  return static_cast<size_t>(i - events.begin());
}

// -- supervisor_fixture -------------------------------------------------------

supervisor_fixture::supervisor_fixture() {
  options.owner = {"node", 7};
  options.workers = 2;
  options.lease = 30s;
  options.shutdown_grace = 20s;
  options.seed = 42;
  options.retry.jitter = 0;
  options.type = [](const std::string&) {
    type_options result;
    result.timeout = 90s;
    return result;
  };
}

child_factories supervisor_fixture::factories() {
  child_factories result;
  result.event_hub = [this] {
    return enroll(adopt(sys.spawn(mock_hub, node)), node, "event-hub");
  };
  result.db = [this](const change_sink_actor&) {
    fail_when_absent(node, "db");
    return enroll(adopt(sys.spawn(mock_db, node)), node, "db");
  };
  result.query = [this] {
    fail_when_absent(node, "query");
    return enroll(adopt(sys.spawn(mock_query, node)), node, "query");
  };
  result.recovery = [this](const rescuer_actor&) {
    return enroll(adopt(sys.spawn(mock_recovery, node)), node, "recovery");
  };
  result.scheduler = [this](const wakeable_actor&) {
    return enroll(adopt(sys.spawn(mock_scheduler, node)), node, "scheduler");
  };
  result.job = [this](const run_owner_actor&, const reader_actor&) {
    // The first slot without a living actor is the one that asks.
    auto index = 1;
    auto name_of = [](int i) { return "job-" + std::to_string(i); };
    while (node->actors.contains(name_of(index))
           || node->parked.contains(name_of(index)))
      ++index;
    auto name = name_of(index);
    return enroll(adopt(sys.spawn(mock_job, node, name)), node, name);
  };
  if (with_gateway)
    result.gateway = [this](const supervisor_actor&) {
      return enroll(adopt(sys.spawn(mock_gateway, node)), node, "gateway");
    };
  return result;
}

reply_ptr<uint16_t> supervisor_fixture::boot() {
  uut = adopt(sys.spawn<supervisor_impl>(factories(), options));
  uut->attach_functor(
    [node = node](const caf::error& x) { node->exit_reason = x; });
  auto result = ask<uint16_t>(uut, boot_atom_v);
  settle();
  return result;
}

void supervisor_fixture::enqueue_due(std::initializer_list<int64_t> seqs) {
  for (auto seq : seqs)
    node->queue.push_back(make_claimed(seq));
  caf::anon_send(uut, wake_atom_v);
  settle();
}

void supervisor_fixture::commit(std::vector<job> jobs) {
  caf::anon_send(uut, committed_changes{std::move(jobs)});
  settle();
}

// A promise is only to be delivered by its own actor, while that one runs.
void supervisor_fixture::answer_claim(claimed x) {
  CAF_REQUIRE(!node->held_claims.empty());
  node->hold_claims = false;
  node->on_flush = [node = node.get(), x] {
    node->held_claims.front().deliver(x);
    node->held_claims.pop_front();
  };
  caf::anon_send(caf::actor_cast<db_actor>(node->actors["db"]), flush_atom_v);
  settle();
}

void supervisor_fixture::answer_settle(job now) {
  CAF_REQUIRE(!node->held_settles.empty());
  node->on_flush = [node = node.get(), now] {
    node->held_settles.front().deliver(changed{now});
    node->held_settles.pop_front();
  };
  caf::anon_send(caf::actor_cast<db_actor>(node->actors["db"]), flush_atom_v);
  settle();
}

void supervisor_fixture::report(int64_t seq, outcome result, int64_t run) {
  caf::anon_send(uut, run_report{seq, run, std::move(result)});
  settle();
}

void supervisor_fixture::kill_child(const std::string& name) {
  auto i = node->actors.find(name);
  if (i == node->actors.end())
    CAF_FAIL("there is no living actor " << name);
  kill(i->second);
  settle();
}

void supervisor_fixture::exhaust(const std::string& name) {
  for (auto wait : {100ms, 200ms, 400ms, 800ms, 1600ms}) {
    kill_child(name);
    pass(wait);
  }
  kill_child(name);
}

tree_report supervisor_fixture::tree() {
  auto answer = ask<tree_report>(uut, tree_atom_v);
  settle();
  pass(250ms);
  CAF_REQUIRE(answer->value.has_value());
  return std::move(*answer->value);
}

actor_report supervisor_fixture::shown(const std::string& name) {
  auto all = tree();
  for (auto& x : all.actors)
    if (x.name == name)
      return x;
  CAF_FAIL("the tree does not show " << name);
  return {};
}

const settle_write& supervisor_fixture::only_settle() const {
  CAF_REQUIRE_EQUAL(node->settles.size(), 1u);
  return node->settles.front().first;
}

} // namespace reeve::test
