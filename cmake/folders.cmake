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

# Target and test that the usual check leaves to its sanitized build: see tributary_usual_target.
function(tributary_left_to_sanitizers target test)
  set_property(GLOBAL APPEND PROPERTY TRIBUTARY_LEFT_TO_SANITIZERS ${target})
  set_property(TEST ${test} APPEND PROPERTY LABELS sanitized)
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

# Target `usual`: everything but what is left to the sanitizers; its tests are those without the
# label `sanitized`.
function(tributary_usual_target)
  tributary_binaries(found ${PROJECT_SOURCE_DIR})
  get_property(left GLOBAL PROPERTY TRIBUTARY_LEFT_TO_SANITIZERS)
  list(REMOVE_ITEM found fuzz_replay ${left})
  add_custom_target(usual DEPENDS ${found})
endfunction()

# GoogleTest binary <folder>_test from tests/<folder>/sources.txt:
#   tributary_test(folder [OPTIMIZED] [THREADS] libraries...)
# OPTIMIZED marks what has to be tested as it is compiled for use, also where time is short: kernels.
# THREADS marks what starts threads: ThreadSanitizer's run builds and tests just those.
add_custom_target(unit_tests)
add_custom_target(threaded_tests)
function(tributary_test folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMIZED;THREADS" "" "")
  tributary_sources(paths tests/${folder})
  add_executable(${folder}_test ${paths})
  target_link_libraries(${folder}_test PRIVATE ${arg_UNPARSED_ARGUMENTS} source_dir GTest::gmock
                                               GTest::gtest_main)
  tributary_precompiled(${folder}_test tests/precompiled/gmock.hxx)
  # Hundreds of files compile in two thirds of the time; what they test is optimized.
  target_compile_options(${folder}_test PRIVATE $<$<CONFIG:Release>:-Og>)
  add_test(NAME unit.${folder} COMMAND ${folder}_test)
  set(labels unit)
  add_dependencies(unit_tests ${folder}_test)
  if(arg_THREADS)
    list(APPEND labels threads)
    add_dependencies(threaded_tests ${folder}_test)
  endif()
  set_tests_properties(unit.${folder} PROPERTIES LABELS "${labels}" TIMEOUT 300)
  if(NOT arg_OPTIMIZED)
    tributary_left_to_sanitizers(${folder}_test unit.${folder})
  endif()
endfunction()
