# The pure folders and their unit tests, which need no library but GoogleTest: what is built for a
# machine whose libraries are not here. GoogleTest is built along, from Debian's sources.
find_package(Threads REQUIRED)
tributary_library(core Threads::Threads)
# Of config/ what reads no file.
add_library(tributary_config STATIC ${PROJECT_SOURCE_DIR}/config/plan/aggregation_memory.cc
                                    ${PROJECT_SOURCE_DIR}/config/plan/engine_tables.cc
                                    ${PROJECT_SOURCE_DIR}/config/model/host_choice.cc
                                    ${PROJECT_SOURCE_DIR}/config/plan/lcore_plan.cc
                                    ${PROJECT_SOURCE_DIR}/config/plan/memory_plan.cc)
target_link_libraries(tributary_config PUBLIC tributary_core)
tributary_library(aggregator tributary_config)
tributary_library(completion tributary_aggregator)

set(INSTALL_GTEST OFF)
add_subdirectory(/usr/src/googletest ${PROJECT_BINARY_DIR}/googletest EXCLUDE_FROM_ALL SYSTEM)
foreach(name gtest gtest_main gmock)
  target_compile_options(${name} PRIVATE -w)
endforeach()
add_library(source_dir STATIC ${PROJECT_SOURCE_DIR}/tests/source_dir.cc)
target_compile_definitions(source_dir PRIVATE TRIBUTARY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
tributary_test(core tributary_core)
tributary_test(aggregator tributary_aggregator)
tributary_test(completion tributary_completion)
