# The tests of the gate (tools/check without --full); docs/testing.md says how a test gets here.
#   exact   no clock, or virtual time: green once, never repeated; several at a time
#   timing  real processes, threads or sockets: one at a time after the others
# A test without either label runs with --full alone. CMake gives labels to tests of this folder alone:
# unit.sim and gate.swarm have theirs where they are added.

# tributary_gate(label name...): tests of components that are switched off are left out.
function(tributary_gate label)
  foreach(name ${ARGN})
    if(TEST ${name})
      set_property(TEST ${name} APPEND PROPERTY LABELS ${label})
    elseif(TRIBUTARY_PYTHON AND TRIBUTARY_POOL AND TRIBUTARY_MANAGER AND TRIBUTARY_MPI AND TARGET tributary_torch)
      message(FATAL_ERROR "tests/gate.cmake: no test is called '${name}'")
    endif()
  endforeach()
endfunction()

# tributary_gate_cases(name of_test path::case...): single cases of a file that takes too long as a whole.
function(tributary_gate_cases name of_test)
  if(NOT TEST ${of_test})
    return()
  endif()
  add_test(NAME ${name} COMMAND ${DEBIAN_PYTHON} -B -m pytest -q -p no:cacheprovider
           -o faulthandler_timeout=150 ${ARGN} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  get_test_property(${of_test} ENVIRONMENT environment)
  set_tests_properties(${name} PROPERTIES LABELS timing TIMEOUT 240 RUN_SERIAL ON
                                          ENVIRONMENT "${environment}")
endfunction()

tributary_gate(exact
  bench.report docs.pages docs.shell docs.simulation golden golden.wireshark house_rules house_rules.samples json_schema
  protocol_tables unit.agentd unit.aggregator unit.aggregator_avx2 unit.aggregator_avx512
  unit.aggregator_neon unit.aggregator_portable unit.c_link unit.cli unit.client unit.client_command
  unit.completion unit.config unit.core unit.daemon unit.database unit.fashion_mnist unit.impair
  unit.loadgen unit.manager unit.pktgen_scripts unit.pool_c_link unit.program unit.programs
  unit.prometheus_rules unit.psd unit.reduce_numpy unit.remote_training unit.run_tests unit.simtool
  unit.simtool_cli unit.storm_beds unit.straggler_model unit.task_parts unit.telemetry
  unit.telemetry_decoder unit.telemetryd unit.worker)

tributary_gate(timing
  unit.agentd_timed unit.client_timed unit.config_timed unit.control unit.control_timed unit.core_timed
  unit.daemon_timed unit.dataplane unit.dataplane_timed unit.dataplane_nic unit.dataplane_nic_timed
  unit.manager_timed unit.pool unit.pool_timed unit.poold unit.poold_timed unit.program_timed
  unit.psd_timed unit.python unit.task_cache unit.task_failures unit.task_publish unit.task_status
  unit.tasks unit.telemetry_ioam unit.testbed unit.worker_timed unit.worker_memif
  unit.worker_memif_timed docs.manager docs.mpi docs.names docs.operations docs.placement
  docs.pool docs.readme docs.tasks docs.torch mpi.mistakes mpi.solver system.allreduce system.doctor system.events
  system.failures system.fragments system.impostors system.named_sums system.names
  system.pool_interfaces system.simulation system.stragglers system.switch system.tasks
  system.telemetry system.telemetry_paths system.telemetryd torch.binding torch.environment)
tributary_gate_cases(gate.tree system.tree
  "system/test_tree.py::test_t1_twelve_workers_on_three_levels[veth]"
  system/test_tree.py::test_a1_a_job_below_one_switch_ends_there)
tributary_gate_cases(gate.servers system.servers
  system/test_servers.py::test_o2_ranks_ask_for_the_server)
tributary_gate_cases(gate.connections system.connections
  "system/test_connections.py::test_the_switch[small]"
  "system/test_connections.py::test_the_parameter_server[small]"
  "system/test_connections.py::test_the_telemetry_server[small]"
  "system/test_connections.py::test_the_manager[small]"
  "system/test_connections.py::test_the_pools_node[small]")
tributary_gate_cases(gate.placement system.placement
  system/test_placement.py::test_from_manifest_to_running_to_nothing
  system/test_placement.py::test_c2_a_container_that_podman_left_half_started_is_made_anew
  system/test_placement.py::test_a_gang_is_placed_at_once_and_ends_by_itself
  system/test_placement.py::test_c2_a_container_that_forks_without_bound_is_held
  system/test_placement.py::test_mistakes_are_named)
tributary_gate_cases(gate.manager_page system.manager_page
  system/test_manager_page.py::test_c2_json_has_nodes_devices_groups_pods_and_jobs
  system/test_manager_page.py::test_c2_a_groups_load_is_the_sum_of_its_containers
  system/test_manager_page.py::test_the_page_needs_nothing_from_elsewhere)
tributary_gate_cases(gate.open_jobs system.open_jobs
  "system/test_open_jobs.py::test_a4_two_levels_and_the_next_job_in_its_place[inline]"
  system/test_open_jobs.py::test_a4_what_does_not_fit_is_refused_with_figures)
tributary_gate_cases(gate.doctor_setups system.doctor_setups
  system/test_doctor_setups.py::test_a_healthy_idle_switch_has_no_error
  system/test_doctor_setups.py::test_a_small_mtu_at_the_switch
  system/test_doctor_setups.py::test_acl
  system/test_doctor_setups.py::test_wrong_leaf)
tributary_gate_cases(gate.ports system.ports
  system/test_ports.py::test_a_memif_client_joins_through_a_port_that_comes_and_goes
  system/test_ports.py::test_a_device_that_cannot_be_opened_changes_nothing)
if(TRIBUTARY_MANAGER)
tributary_gate_cases(gate.manager_ranks system.manager_ranks
  system/test_manager_ranks.py::test_ranks_in_c_and_cpp_join_where_the_manager_says
  system/test_manager_ranks.py::test_ctrl_c_ends_waiting_for_a_job)
tributary_gate_cases(gate.cables system.cables
  system/test_cables.py::test_t20_exchanged_cables_are_named_until_the_topology_is_mended)
tributary_gate_cases(gate.managed_hosts system.managed_hosts
  system/test_managed_hosts.py::test_t10_switches_take_up_and_drop_hosted_jobs_while_they_run
  system/test_managed_hosts.py::test_t10_hosts_that_cannot_be_are_refused_with_the_reason)
tributary_gate_cases(gate.torch_managed torch.managed
  torch/managed_test.py::test_t20_a_group_asks_for_its_own_workers_and_ends_its_job
  "torch/managed_test.py::test_t20_a_refused_group_is_gloos[FAILED_PRECONDITION]"
  torch/managed_test.py::test_t20_a_group_that_is_destroyed_waits_no_longer
  torch/managed_test.py::test_t20_groups_get_jobs_of_the_manager_and_give_them_back)
endif()
tributary_gate_cases(gate.pool system.pool
  data/pool_test.py::test_l1_webhdfs_files_that_change_after_their_first_read_are_refused
  data/pool_test.py::test_l2_epoch_comes_from_the_pool_by_shared_memory
  data/pool_test.py::test_l4_data_that_holds_records_is_none_after_evict_kill_and_restart
  data/pool_test.py::test_l4_flipped_bits_are_noticed_counted_and_read_elsewhere)
tributary_gate_cases(gate.python system.python
  python/switch_test.py::test_sums_are_exact_at_every_size
  python/switch_test.py::test_an_int32_sum_that_overflows_is_an_error)
tributary_gate_cases(gate.torch_groups torch.groups
  "torch/groups_test.py::test_groups_of_four_sum_at_a_time[3]"
  torch/groups_test.py::test_two_threads_sum_in_two_groups
  torch/groups_test.py::test_a_killed_rank_is_named_in_all_its_groups)
tributary_gate_cases(gate.torch torch.backend
  "torch/backend_test.py::test_case[all_reduce_types]"
  "torch/backend_test.py::test_case[callbacks_that_wait]"
  "torch/backend_test.py::test_case[power_sgd]"
  "torch/backend_test.py::test_case[profiled]"
  torch/backend_test.py::test_a_hook_trains_as_without_it
  torch/backend_test.py::test_a_result_that_lacks_a_rank_is_an_error_that_names_it
  torch/backend_test.py::test_a_sum_of_floats_that_lacks_a_rank_is_scaled_on_request
  torch/backend_test.py::test_an_error_names_both_types
  torch/backend_test.py::test_an_overflow_is_an_error_and_the_group_goes_on
  torch/backend_test.py::test_shapes_that_differ_are_named_and_end_the_group)
tributary_gate_cases(gate.mpi mpi.preload
  mpi/preload_test.py::test_every_collective_is_right_and_goes_through_the_switch)
tributary_gate_cases(gate.mpirun mpi.mpirun
  mpi/mpirun_test.py::test_the_library_is_found_and_calls_are_counted
  mpi/mpirun_test.py::test_a_program_without_mpi_fails_since_nothing_was_preloaded_into_mpi
  mpi/mpirun_test.py::test_nodes_get_the_variables_from_the_launcher
  mpi/mpirun_test.py::test_bad_input_is_refused)
