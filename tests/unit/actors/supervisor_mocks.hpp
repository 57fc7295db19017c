// tests/unit/actors/supervisor_mocks.hpp -- children that do what a mock_node
// says.
#pragma once

#include "supervisor_fixture.hpp"

#include <string>

namespace reeve::test {

event_hub_actor::behavior_type mock_hub(event_hub_actor::pointer self,
                                        mock_node_ptr node);
db_actor::behavior_type mock_db(db_actor::pointer self, mock_node_ptr node);
claimer_actor::behavior_type mock_claimer(claimer_actor::pointer self,
                                          mock_node_ptr node);
query_actor::behavior_type mock_query(query_actor::pointer self,
                                      mock_node_ptr node);
recall_actor::behavior_type mock_recall(recall_actor::pointer self,
                                        mock_node_ptr node);
embedder_actor::behavior_type mock_embedder(embedder_actor::pointer self,
                                            mock_node_ptr node);
provider_gate_actor::behavior_type mock_gate(provider_gate_actor::pointer self,
                                             mock_node_ptr node,
                                             std::string lane);
recovery_actor::behavior_type mock_recovery(recovery_actor::pointer self,
                                            mock_node_ptr node);
scheduler_actor::behavior_type mock_scheduler(scheduler_actor::pointer self,
                                              mock_node_ptr node);
job_actor::behavior_type mock_job(job_actor::pointer self, mock_node_ptr node,
                                  std::string name);
gateway_actor::behavior_type mock_gateway(gateway_actor::pointer self,
                                          mock_node_ptr node);

} // namespace reeve::test
