# One file per folder, sources.txt, lists what both build systems compile.
function(tributary_sources out folder)
  set(list ${PROJECT_SOURCE_DIR}/${folder}/sources.txt)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} paths REGEX "^[^#]")
  list(TRANSFORM paths PREPEND ${PROJECT_SOURCE_DIR}/)
  set(${out} ${paths} PARENT_SCOPE)
endfunction()

# Static library tributary_<folder> from <folder>/sources.txt, linked with the given targets.
function(tributary_library folder)
  tributary_sources(paths ${folder})
  if(NOT paths)
    add_library(tributary_${folder} INTERFACE)
    target_link_libraries(tributary_${folder} INTERFACE ${ARGN})
    return()
  endif()
  add_library(tributary_${folder} STATIC ${paths})
  target_link_libraries(tributary_${folder} PUBLIC ${ARGN})
endfunction()

# Compiles the files of a library eight at a time, in the order of its list: what they include, most of
# what a compiler reads there, is read once. Names in anonymous namespaces of neighbours must differ.
# For what is not on the path of packets.
function(tributary_jumbo)
  foreach(folder ${ARGN})
    set_target_properties(tributary_${folder} PROPERTIES UNITY_BUILD ${TRIBUTARY_JUMBO}
                                                         UNITY_BUILD_BATCH_SIZE 8)
  endforeach()
endfunction()

# tributary_precompiled(target header): external headers that most C++ sources of the target include are
# parsed once. The sources still include what they use: meson builds some of them without.
function(tributary_precompiled target header)
  target_precompile_headers(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/${header}>)
endfunction()

# Executables and libraries of a folder and of those in it.
function(tributary_binaries out folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  set(found)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "EXECUTABLE|_LIBRARY$" AND NOT type STREQUAL "INTERFACE_LIBRARY")
      list(APPEND found ${target})
    endif()
  endforeach()
  foreach(inner IN LISTS folders)
    tributary_binaries(more ${inner})
    list(APPEND found ${more})
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# Target `programs`: what a user runs or imports, without tests and benchmarks.
function(tributary_programs_target)
  tributary_binaries(found ${PROJECT_SOURCE_DIR}/tools)
  tributary_binaries(modules ${PROJECT_SOURCE_DIR}/worker)
  add_custom_target(programs DEPENDS ${found} ${modules})
endfunction()

# Target `gate`: everything but the fuzz targets, which the sanitized build makes.
function(tributary_gate_target)
  tributary_binaries(found ${PROJECT_SOURCE_DIR})
  get_property(fuzz GLOBAL PROPERTY TRIBUTARY_FUZZ_TARGETS)
  list(REMOVE_ITEM found fuzz_replay ${fuzz})
  add_custom_target(gate DEPENDS ${found})
endfunction()

# GoogleTest binary <folder>_test from tests/<folder>/sources.txt:
#   tributary_test(folder libraries...)
# It is the test unit.<folder>, and for the folders of tests/timed.txt unit.<folder>_timed: the suites
# whose names end in Timed.
add_custom_target(unit_tests)
function(tributary_test folder)
  tributary_sources(paths tests/${folder})
  add_executable(${folder}_test ${paths})
  target_link_libraries(${folder}_test PRIVATE ${ARGN} source_dir GTest::gmock
                                               GTest::gtest_main)
  tributary_precompiled(${folder}_test tests/precompiled/gmock.hxx)
  # Hundreds of files compile in two thirds of the time; what they test is optimized.
  target_compile_options(${folder}_test PRIVATE $<$<CONFIG:Release>:-Og>)
  add_dependencies(unit_tests ${folder}_test)
  set(tests unit.${folder})
  set(timed *Timed.*:*TimedDeathTest.*)
  set(list ${PROJECT_SOURCE_DIR}/tests/timed.txt)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} of_time REGEX "^${folder}$")
  if(of_time)
    list(APPEND tests unit.${folder}_timed)
    add_test(NAME unit.${folder}_timed COMMAND ${folder}_test --gtest_filter=${timed})
  endif()
  add_test(NAME unit.${folder} COMMAND ${folder}_test --gtest_filter=-${timed})
  set_tests_properties(${tests} PROPERTIES LABELS unit TIMEOUT 300)
endfunction()
