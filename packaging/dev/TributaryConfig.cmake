# find_package(Tributary): link Tributary::tributary, include <tributary/tributary.h> or .hpp.
include(${CMAKE_CURRENT_LIST_DIR}/TributaryTargets.cmake)
