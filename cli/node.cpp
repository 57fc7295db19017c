// cli/node.cpp -- the only file that knows all concrete parts.
#include "cli/node.hpp"

#include "actors/event_hub.hpp"
#include "actors/executor.hpp"
#include "actors/gateway/gateway.hpp"
#include "actors/listener.hpp"
#include "actors/query_actor.hpp"
#include "processors/ai/analysis_server.hpp"
#include "processors/ai/local_analysis.hpp"
#include "processors/card_analysis.hpp"
#include "processors/registry.hpp"

#include <caf/actor_system.hpp>

#include <chrono>

namespace reeve {

namespace {

std::chrono::milliseconds in_ms(caf::timespan x) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(x);
}

std::shared_ptr<analysis_model> make_analysis_model(const analysis_options& x) {
  if (x.provider == "local")
    return std::make_shared<local_analysis>();
  analysis_server_options server;
  server.url = x.url;
  server.api_key = x.api_key;
  server.connect_timeout = in_ms(x.connect_timeout);
  server.total_timeout = in_ms(x.timeout);
  server.max_response_bytes = x.max_response_bytes;
  return std::make_shared<analysis_server>(std::move(server));
}

std::shared_ptr<processor_registry> make_processors(const options& config) {
  auto result = std::make_shared<processor_registry>();
  result->add(
    "CARD_ANALYSIS",
    std::make_shared<card_analysis>(make_analysis_model(config.analysis)));
  return result;
}

std::shared_ptr<gateway_context> make_context(
  const options& config, const store_factory& stores,
  const processor_registry& processors) {
  auto result = std::make_shared<gateway_context>();
  result->http = config.http;
  result->auth_mode = config.auth_mode;
  result->node_name = config.node_name;
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

} // namespace

supervisor_actor spawn_node(caf::actor_system& sys, const options& config,
                            store_factory& stores) {
  auto processors = make_processors(config);
  auto context = make_context(config, stores, *processors);
  auto owner = make_owner(config);
  child_factories children;
  children.event_hub = [&sys] {
    return sys.spawn<event_hub_impl>(event_hub_options{});
  };
  children.db = [&sys, &stores](change_sink_actor sink) {
    return sys.spawn<db_actor_impl, caf::detached>(
      stores.connect(), std::move(sink), db_actor_options{});
  };
  children.query = [&sys, &stores] {
    return sys.spawn<query_actor_impl, caf::detached>(stores.connect());
  };
  children.recovery = [&sys, owner, &config](rescuer_actor rescuer) {
    return sys.spawn<recovery_impl>(
      std::move(rescuer),
      recovery_options{.owner = owner, .interval = config.recovery_interval});
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
                                             reader_actor reader) {
    auto make_executor = [&sys, processors, reader](job_actor slot) {
      return sys.spawn<executor_impl, caf::detached>(std::move(slot), reader,
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
  settings.retry = config.retry;
  settings.type = [&config](const std::string& type) {
    return config.type(type);
  };
  return sys.spawn<supervisor_impl>(std::move(children), std::move(settings));
}

} // namespace reeve
