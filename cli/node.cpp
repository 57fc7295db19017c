// cli/node.cpp -- the only file that knows all concrete parts.
#include "cli/node.hpp"

#include "actors/claimer.hpp"
#include "actors/embedder.hpp"
#include "actors/event_hub.hpp"
#include "actors/executor.hpp"
#include "actors/gateway/days.hpp"
#include "actors/gateway/gateway.hpp"
#include "actors/janitor.hpp"
#include "actors/listener.hpp"
#include "actors/provider_gate.hpp"
#include "actors/query_actor.hpp"
#include "actors/recall_actor.hpp"
#include "cli/catalog.hpp"
#include "config/duration.hpp"

#include <caf/actor_system.hpp>
#include <caf/send.hpp>

#include <chrono>

namespace reeve {

namespace {

std::shared_ptr<gateway_context> make_context(
  const options& config, const store_factory& stores,
  const processor_registry& processors) {
  auto result = std::make_shared<gateway_context>();
  result->http = config.http;
  result->auth_mode = config.auth_mode;
  result->node_name = config.node_name;
  result->prices = config.prices;
  result->time_zone = config.time_zone;
  result->shared_store = stores.backend() == "postgresql";
  for (const auto& type : processors.names())
    result->types.emplace(type, config.type(type));
  return result;
}

lease_owner make_owner(const options& config) {
  // Grows with each start: that is how a node knows its own dead past.
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return {config.node_name,
          std::chrono::duration_cast<std::chrono::microseconds>(now).count()};
}

std::map<std::string, std::vector<std::string>> lanes_by_type(
  const processor_registry& processors) {
  std::map<std::string, std::vector<std::string>> result;
  for (const auto& type : processors.names()) {
    auto lanes = processors.find(type)->lanes();
    std::erase(lanes, "");
    result.emplace(type, std::move(lanes));
  }
  return result;
}

std::vector<retention_rule> retention_rules(
  const options& config, const processor_registry& processors) {
  std::vector<retention_rule> result;
  for (const auto& type : processors.names()) {
    auto kept = config.type(type).retention;
    if (kept.count() == 0)
      kept = config.retention;
    if (kept.count() > 0)
      result.push_back({type, in_ms(kept)});
  }
  return result;
}

std::vector<gate_factory> make_gates(caf::actor_system& sys,
                                     const options& config, const models& of) {
  std::vector<gate_factory> result;
  for (const auto& [lane, concurrency] : lane_limits(config, of)) {
    lane_options settings{lane, concurrency, config.gate};
    result.push_back({lane, [&sys, settings](lane_watcher_actor watcher) {
                        return sys.spawn<provider_gate_impl>(
                          settings, std::move(watcher));
                      }});
  }
  return result;
}

} // namespace

void check_parts(const options& config) {
  if (!is_time_zone(config.time_zone))
    throw bad_option("san.time-zone: '" + config.time_zone
                     + "' is no time zone; allowed are IANA names such as "
                       "Asia/Seoul");
  make_processors(config, make_models(config));
}

supervisor_actor spawn_node(caf::actor_system& sys, const options& config,
                            store_factory& stores,
                            const processor_additions& add) {
  auto with = make_models(config);
  auto processors = make_processors(config, with);
  if (add)
    add(*processors);
  auto context = make_context(config, stores, *processors);
  auto owner = make_owner(config);
  child_factories children;
  children.event_hub = [&sys] {
    return sys.spawn<event_hub_impl>(event_hub_options{});
  };
  // Those beside the writer connect when they are first needed, in their own
  // threads.
  auto connect = [&stores] { return stores.connect(); };
  children.db = [&sys, &stores, connect](change_sink_actor sink) {
    return sys.spawn<db_actor_impl, caf::detached>(
      stores.connect(), std::move(sink), db_actor_options{});
  };
  // Writes to SQLite exclude each other.
  if (stores.backend() == "postgresql")
    children.claimer = [&sys, connect] {
      return sys.spawn<claimer_impl, caf::detached>(connect);
    };
  children.query = [&sys, connect] {
    return sys.spawn<query_actor_impl, caf::detached>(connect);
  };
  children.recall = [&sys, connect] {
    auto result = sys.spawn<recall_actor_impl, caf::detached>(connect);
    // Its first search reads all embeddings; nobody should wait for that, nor
    // the jobs that this node starts first.
    caf::delayed_anon_send(result, std::chrono::seconds{1},
                           card_search{{1.0f}, {}, {}, 1});
    return result;
  };
  children.embedder = [&sys,
                       model = with.analysis](run_services_actor services) {
    auto make_caller = [&sys, model] {
      return sys.spawn<embedding_caller_impl, caf::detached>(model);
    };
    return sys.spawn<embedder_impl>(std::move(services), model->lane(),
                                    std::move(make_caller), embedder_options{});
  };
  children.gates = make_gates(sys, config, with);
  children.recovery = [&sys, owner, &config](rescuer_actor rescuer) {
    return sys.spawn<recovery_impl>(
      std::move(rescuer),
      recovery_options{.owner = owner, .interval = config.recovery_interval});
  };
  if (auto rules = retention_rules(config, *processors); !rules.empty())
    children.janitor = [&sys, rules](pruner_actor pruner) {
      janitor_options settings;
      settings.rules = rules;
      return sys.spawn<janitor_impl>(std::move(pruner), std::move(settings));
    };
  children.scheduler = [&sys, &config](wakeable_actor target) {
    return sys.spawn<scheduler_impl>(std::move(target),
                                     scheduler_options{config.poll_interval});
  };
  if (context->shared_store)
    children.listener = [&sys, &stores](wakeable_actor target) {
      return sys.spawn<listener_impl, caf::detached>(
        [&stores] { return stores.listen(); }, std::move(target));
    };
  children.job = [&sys, &config, processors](run_owner_actor owner,
                                             run_services_actor services) {
    auto make_executor = [&sys, processors, services](job_actor slot) {
      return sys.spawn<executor_impl, caf::detached>(std::move(slot), services,
                                                     processors);
    };
    return sys.spawn<job_actor_impl>(
      std::move(owner), std::move(make_executor),
      job_actor_options{.wedged_grace = config.wedged_grace});
  };
  children.gateway = [&sys, context](supervisor_actor supervisor) {
    return spawn_gateway(sys, std::move(supervisor), context);
  };
  supervisor_options settings;
  settings.owner = owner;
  settings.workers = config.workers;
  settings.lease = in_ms(config.lease);
  settings.shutdown_grace = config.shutdown_grace;
  settings.wedged_grace = in_ms(config.wedged_grace);
  settings.retry = config.retry;
  settings.types = lanes_by_type(*processors);
  settings.type = [&config](const std::string& type) {
    return config.type(type);
  };
  return sys.spawn<supervisor_impl>(std::move(children), std::move(settings));
}

} // namespace reeve
