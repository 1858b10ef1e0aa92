# What ranks need and nothing of the switch, without DPDK: libtributary and the Python module. For the
# Python wheel: -DTRIBUTARY_ENDPOINTS_ALONE=ON.
find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED)
# Debian's archive of it is not position-independent: the module needs the shared library.
find_package(PkgConfig REQUIRED)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-cpp)
tributary_library(core Threads::Threads)
tributary_library(config tributary_core PkgConfig::YAML)
tributary_library(aggregator tributary_config)
tributary_library(completion tributary_aggregator)
tributary_jumbo(config)
add_subdirectory(worker)
