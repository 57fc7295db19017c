// tests/unit/actors/supervisor_mocks.cpp -- the mock children.
#include "supervisor_mocks.hpp"

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace reeve::test {

namespace {

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
      if (name.starts_with("job-"))
        result.children.emplace_back().name = "executor";
      promise.deliver(std::move(result));
    }
    return promise;
  };
}

caf::error next_error(std::deque<caf::error>& errors) {
  if (errors.empty())
    return {};
  auto result = std::move(errors.front());
  errors.pop_front();
  return result;
}

claimed take_due(mock_node& node, const claim_write& x) {
  claimed result;
  result.next_due_in = node.next_due_in;
  result.paused = node.paused;
  while (!node.queue.empty() && result.jobs.size() < x.limit) {
    result.jobs.push_back(std::move(node.queue.front()));
    node.queue.pop_front();
  }
  result.more = !node.queue.empty();
  return result;
}

class mock_unread_claim : public unread_claim {
public:
  mock_unread_claim(claimer_actor::pointer claimer, mock_node_ptr node,
                    claimed what)
    : claimer_(claimer), node_(std::move(node)), what_(std::move(what)) {
    // nop
  }

  size_t size() const override {
    return what_.jobs.size();
  }

  std::map<std::string, size_t> count_by_type() const override {
    return reeve::count_by_type(what_.jobs);
  }

  claimed read() override {
    node_->events.push_back(claimer_->mailbox().blocked()
                              ? "read"
                              : "read while the next one is asked for");
    return std::move(what_);
  }

private:
  claimer_actor::pointer claimer_;
  mock_node_ptr node_;
  claimed what_;
};

} // namespace

event_hub_actor::behavior_type mock_hub(event_hub_actor::pointer self,
                                        mock_node_ptr node) {
  return {
    status_of(self, node, "event-hub"),
    [node](const committed_changes& x) {
      auto& jobs = node->published.emplace_back();
      for (auto one : x.jobs)
        jobs.push_back(*one.now());
    },
    [](watch_atom, const watch_filter&, const watcher_actor&) {
      watch_started result;
      result.newest = 99;
      return result;
    },
  };
}

db_actor::behavior_type mock_db(db_actor::pointer self, mock_node_ptr node) {
  auto claim = [self, node](const claim_write& x,
                            bool repeated) -> caf::result<claimed> {
    node->events.push_back("claim");
    node->claims.emplace_back(x, repeated);
    if (auto err = next_error(node->claim_errors))
      return err;
    if (node->hold_claims) {
      auto promise = self->make_response_promise<claimed>();
      node->held_claims.push_back(promise);
      return promise;
    }
    return take_due(*node, x);
  };
  auto enqueue = [node](const enqueue_write& x) {
    ++node->enqueues;
    node->events.push_back("enqueue");
    enqueued result;
    result.job.id = x.id;
    return result;
  };
  return {
    enqueue,
    [node](const enqueue_batch_write&) {
      ++node->enqueues;
      return enqueued_batch{};
    },
    [](const cancel_write&) { return changed{}; },
    [](const retry_write&) { return changed{}; },
    [](const bulk_retry_write&) { return bulk_retried{}; },
    [node](const pause_write& x) -> caf::result<done> {
      if (auto err = next_error(node->pause_errors))
        return err;
      node->pauses.push_back(x);
      return done{};
    },
    [](const summary_write&) { return stored_summary{}; },
    [](const delete_scrap_write&) { return done{}; },
    [](const progress_write&) { return changed{}; },
    status_of(self, node, "db"),
    [node](const step_write& x, bool) {
      node->steps.push_back(x);
      return changed{};
    },
    claim,
    [node, claim](caf::join_atom, const claim_write& x) {
      // What it joins comes behind it.
      node->events.push_back("join");
      ++node->joined;
      return claim(x, false);
    },
    [node, enqueue](caf::join_atom, const enqueue_write& x) {
      // The claim that it joins comes behind it.
      node->events.push_back("join");
      return enqueue(x);
    },
    [self, node](const settle_list& x, bool repeated) -> caf::result<settled> {
      settled result;
      for (const auto& one : x) {
        node->events.push_back("settle");
        node->settles.emplace_back(one, repeated);
        if (node->refusals.empty()) {
          result.refusals.push_back(std::nullopt);
        } else {
          result.refusals.push_back(std::move(node->refusals.front()));
          node->refusals.pop_front();
        }
      }
      if (auto err = next_error(node->settle_errors))
        return err;
      if (node->hold_settles) {
        auto promise = self->make_response_promise<settled>();
        node->held_settles.emplace_back(promise, x.size());
        return promise;
      }
      return result;
    },
    [node](const heartbeat_write&) {
      ++node->renewals;
      if (node->leases)
        return renewed{*node->leases};
      renewed result;
      for (const auto& [name, x] : node->runs)
        result.leases.push_back({x.job.seq, x.job.run, false, 0});
      return result;
    },
    [](const rescue_write&) { return rescued{}; },
    [](const prune_write&) { return pruned{}; },
    [node](announce_atom) { ++node->announcements; },
    [node](flush_atom) {
      node->events.push_back("flush");
      if (auto f = std::exchange(node->on_flush, {}))
        f();
    },
    [](flush_atom, uint64_t) {},
    [](reconnect_atom) {},
  };
}

claimer_actor::behavior_type mock_claimer(claimer_actor::pointer self,
                                          mock_node_ptr node) {
  return {
    status_of(self, node, "claimer"),
    [self, node](const claim_write& x) -> caf::result<unread_claim_ptr> {
      node->events.push_back("claim beside");
      node->claims_beside.push_back(x);
      auto promise = self->make_response_promise<unread_claim_ptr>();
      node->held_beside.push_back(promise);
      auto finish = [self, node, x] {
        auto to = std::move(node->held_beside.front());
        node->held_beside.pop_front();
        if (auto err = next_error(node->claimer_errors))
          return to.deliver(err);
        to.deliver(unread_claim_ptr{
          std::make_shared<mock_unread_claim>(self, node, take_due(*node, x))});
      };
      if (node->claimer_takes.count() > 0)
        self->run_delayed(node->claimer_takes, finish);
      else
        finish();
      return promise;
    },
  };
}

query_actor::behavior_type mock_query(query_actor::pointer self,
                                      mock_node_ptr node) {
  return reader_behavior<query_actor::behavior_type>(
    node->reads, status_of(self, node, "query"));
}

recall_actor::behavior_type mock_recall(recall_actor::pointer self,
                                        mock_node_ptr node) {
  return {
    [](const card_search&) { return card_hits(2); },
    status_of(self, node, "recall"),
  };
}

embedder_actor::behavior_type mock_embedder(embedder_actor::pointer self,
                                            mock_node_ptr node) {
  return {
    [](const recall_query& x) {
      card_hits result(1);
      result[0].card.summary = x.text;
      return result;
    },
    status_of(self, node, "embedder"),
  };
}

provider_gate_actor::behavior_type mock_gate(provider_gate_actor::pointer self,
                                             mock_node_ptr node,
                                             std::string lane) {
  return {
    status_of(self, node, "gate:" + lane),
    [](const permit_request& x) {
      permit_answer result;
      result.permit = x.tokens;
      return result;
    },
    [node](const permit_return& x) { node->returned.push_back(x.permit); },
    [node](const resume_lane& x) {
      node->resumed.push_back(x.name);
      return done{};
    },
    [lane, node](const lanes_query&) {
      auto result = node->lanes[lane];
      result.name = lane;
      return result;
    },
    [](caf::tick_atom) {},
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
    [self, node, name](run_atom, const run_bundle_ptr& x) {
      node->bundles.push_back(x->size());
      node->last_bundle = x;
      // As its executor would: the first one begins at once.
      x->begin_next(self->clock().now());
      for (const auto& one : x->runs())
        node->runs.emplace_back(name, one);
    },
    [node, name](interrupt_atom, int64_t seq, int64_t) {
      node->interrupts.emplace_back(name, seq);
    },
    [](const run_news&) {},
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

} // namespace reeve::test
