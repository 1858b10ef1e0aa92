# The Debian packages: cmake --build BUILD --target package
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tributary)
set(CPACK_PACKAGE_VENDOR Tributary)
set(CPACK_PACKAGE_CONTACT "The Tributary authors <tributary@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each component has its own
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # Depends: from what the binaries link
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENTS_ALL)

set(control ${CMAKE_CURRENT_BINARY_DIR}/debian)
tributary_gzip(changelog ${CMAKE_CURRENT_SOURCE_DIR}/debian/changelog changelog)

# tributary_package(component package section summary text [CONTROL file...] [KEY value]...): the keys
# are those of CPACK_DEBIAN_<COMPONENT>_PACKAGE_<KEY>.
macro(tributary_package component package section summary text)
  string(TOUPPER ${component} upper)
  set(prefix CPACK_DEBIAN_${upper})
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(${prefix}_PACKAGE_NAME ${package})
  set(${prefix}_PACKAGE_SECTION ${section})
  set(${prefix}_DESCRIPTION "${summary}\n${text}")
  cmake_parse_arguments(arg "" "DEPENDS;RECOMMENDS;SUGGESTS;ARCHITECTURE;SHLIBDEPS" "CONTROL" ${ARGN})
  foreach(key DEPENDS RECOMMENDS SUGGESTS ARCHITECTURE SHLIBDEPS)
    if(DEFINED arg_${key})
      set(${prefix}_PACKAGE_${key} "${arg_${key}}")
    endif()
  endforeach()
  set(${prefix}_PACKAGE_CONTROL_EXTRA ${arg_CONTROL})
  install(FILES debian/copyright ${changelog} DESTINATION ${doc}/${package} COMPONENT ${component})
endmacro()

# tributary_library_package(component library text): one that holds a shared library of ABI 0.
macro(tributary_library_package component library summary text)
  file(WRITE ${control}/${component}/shlibs "${library} 0 ${library}0 (>= ${PROJECT_VERSION})\n")
  tributary_package(${component} ${library}0 libs "${summary}" "${text}"
    CONTROL ${control}/${component}/shlibs ${CMAKE_CURRENT_SOURCE_DIR}/debian/library/triggers)
endmacro()

# tributary_python_package(component package summary text [KEY value]...)
macro(tributary_python_package component package summary text)
  foreach(script postinst prerm)
    set(package ${package})
    configure_file(debian/python/${script}.in ${control}/${component}/${script} @ONLY)
  endforeach()
  tributary_package(${component} ${package} python "${summary}" "${text}" ${ARGN}
    CONTROL ${control}/${component}/postinst ${control}/${component}/prerm)
endmacro()

set(about "Tributary sums the tensors of distributed training inside the network: a
switch in software adds the workers' packets as they pass, and sends each
worker the sum.")

file(READ debian/tributary/conffiles conffiles)
if(NOT TRIBUTARY_POOL)
  string(REPLACE "/etc/tributary/pool.yaml\n" "" conffiles "${conffiles}")
endif()
if(NOT TRIBUTARY_MANAGER)
  string(REGEX REPLACE "/etc/tributary/(topology|tenants).yaml\n" "" conffiles "${conffiles}")
endif()
file(WRITE ${control}/conffiles "${conffiles}")
set(scripts postinst prerm postrm)
list(TRANSFORM scripts PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/debian/tributary/)
# Libraries that commands load when they are run.
set(recommended "ethtool, iproute2")
if(TRIBUTARY_POOL)
  string(APPEND recommended ", libtributary-pool0 (= ${PROJECT_VERSION})")
endif()
if(TRIBUTARY_MANAGER)
  string(APPEND recommended ", libtributary-manager0 (= ${PROJECT_VERSION})")
endif()
# Drivers, of cards and of memory pools, are loaded, not linked.
tributary_package(tributary tributary net "in-network aggregation switch, its servers and its client"
  "${about}\n.\nThis package has the daemons and the client."
  DEPENDS "librte-meta-net, librte-meta-mempool, systemd | systemd-standalone-sysusers"
  RECOMMENDS "${recommended}" SUGGESTS "python3-tributary, tributary-doc, prometheus, wireshark"
  CONTROL ${control}/conffiles ${scripts})

tributary_library_package(libtributary libtributary "collectives summed in the network"
  "${about}\n.\nThis package has the library that applications link.")
set(development "libtributary0 (= ${PROJECT_VERSION})")
if(TRIBUTARY_POOL)
  tributary_library_package(libtributary-pool libtributary-pool "training data from the cluster's memory"
    "${about}\n.\nThis package has the library that loads training data from the
memory of the cluster's nodes.")
  string(APPEND development ", libtributary-pool0 (= ${PROJECT_VERSION})")
endif()
if(TRIBUTARY_MANAGER)
  tributary_library_package(libtributary-manager libtributary-manager "asks a cluster's manager for a job"
    "${about}\n.\nThis package has the library that programs load when they name a
manager.")
endif()
tributary_package(dev libtributary-dev libdevel "headers for collectives summed in the network"
  "${about}\n.\nThis package has the C and C++ headers, with files for pkg-config and
CMake."
  DEPENDS "${development}" SUGGESTS tributary-doc SHLIBDEPS OFF)

if(TRIBUTARY_PYTHON)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(minor ${Python3_VERSION_MINOR})
  math(EXPR next "${minor} + 1")
  tributary_python_package(python python3-tributary "collectives on NumPy arrays, in the network"
    "${about}\n.\nThis package has the Python module."
    DEPENDS "python3 (>= 3.${minor}), python3 (<< 3.${next}), python3-numpy"
    SUGGESTS "libtributary-manager0, tributary-doc")
  if(TARGET tributary_torch)
    # Its libraries are PyTorch's, of that package.
    tributary_python_package(torch python3-tributary-torch "backend of PyTorch that sums in the network"
      "${about}\n.\nThis package has the backend of torch.distributed."
      DEPENDS "python3-tributary (= ${PROJECT_VERSION}), python3, python3-torch, libc6, libstdc++6"
      SHLIBDEPS OFF)
  endif()
endif()
tributary_package(doc tributary-doc doc "documents of the switch that sums tensors"
  "${about}\n.\nThis package has the documents." ARCHITECTURE all SHLIBDEPS OFF)
include(CPack)
