// tests/unit/actors/supervisor_fixture.cpp -- a supervisor and its mock
// children.
#include "supervisor_fixture.hpp"

#include "supervisor_mocks.hpp"

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
    if (name == "claimer")
      node->held_beside.clear();
  });
  return x;
}

void fail_when_absent(const mock_node_ptr& node, const std::string& name) {
  auto i = node->absent.find(name);
  if (i == node->absent.end() || i->second == 0)
    return;
  --i->second;
  throw store_unavailable("connection refused");
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
  options.types = {{"CARD_ANALYSIS", {}}};
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
  if (with_claimer)
    result.claimer = [this] {
      return enroll(adopt(sys.spawn(mock_claimer, node)), node, "claimer");
    };
  if (with_recall) {
    result.recall = [this] {
      return enroll(adopt(sys.spawn(mock_recall, node)), node, "recall");
    };
    result.embedder = [this](const run_services_actor&) {
      return enroll(adopt(sys.spawn(mock_embedder, node)), node, "embedder");
    };
  }
  for (const auto& lane : gates)
    result.gates.push_back({lane, [this, lane](const lane_watcher_actor&) {
                              return enroll(
                                adopt(sys.spawn(mock_gate, node, lane)), node,
                                "gate:" + lane);
                            }});
  result.recovery = [this](const rescuer_actor&) {
    return enroll(adopt(sys.spawn(mock_recovery, node)), node, "recovery");
  };
  result.scheduler = [this](const wakeable_actor&) {
    return enroll(adopt(sys.spawn(mock_scheduler, node)), node, "scheduler");
  };
  result.job = [this](const run_owner_actor&, const run_services_actor&) {
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

void supervisor_fixture::commit(std::vector<job> jobs, bool leaves_due_work) {
  committed_changes changes;
  changes.leaves_due_work = leaves_due_work;
  for (auto& x : jobs)
    changes.jobs.emplace_back(std::make_shared<const job>(std::move(x)));
  caf::anon_send(uut, std::move(changes));
  settle();
}

// A promise is only to be delivered by its own actor, while that one runs.
void supervisor_fixture::answer_claim(claimed x) {
  end_claim([x](auto& promise) { promise.deliver(x); });
}

void supervisor_fixture::fail_claim(ec why) {
  end_claim([why](auto& promise) { promise.deliver(caf::make_error(why)); });
}

void supervisor_fixture::end_claim(
  std::function<void(caf::typed_response_promise<claimed>&)> answer) {
  CAF_REQUIRE(!node->held_claims.empty());
  node->hold_claims = false;
  node->on_flush = [node = node.get(), answer] {
    answer(node->held_claims.front());
    node->held_claims.pop_front();
  };
  caf::anon_send(caf::actor_cast<db_actor>(node->actors["db"]), flush_atom_v);
  settle();
}

void supervisor_fixture::answer_settle() {
  CAF_REQUIRE(!node->held_settles.empty());
  node->on_flush = [node = node.get()] {
    auto& [promise, count] = node->held_settles.front();
    settled all;
    all.refusals.resize(count);
    promise.deliver(std::move(all));
    node->held_settles.pop_front();
  };
  caf::anon_send(caf::actor_cast<db_actor>(node->actors["db"]), flush_atom_v);
  settle();
}

void supervisor_fixture::tell_lane(const std::string& lane, lane_state state) {
  lane_report x;
  x.name = lane;
  x.state = state;
  node->lanes[lane] = x;
  caf::anon_send(uut, std::move(x));
  settle();
}

void supervisor_fixture::report(int64_t seq, outcome result, int64_t run,
                                caf::timespan took) {
  run_reports news;
  news.ended.push_back({seq, run, std::move(result), took});
  caf::anon_send(uut, std::move(news));
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
