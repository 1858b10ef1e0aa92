# How kinds of files are installed.

# tributary_gzip(out in name): a compressed copy in the build directory.
function(tributary_gzip out in name)
  find_program(GZIP gzip REQUIRED)
  set(made ${CMAKE_CURRENT_BINARY_DIR}/${name}.gz)
  execute_process(COMMAND ${GZIP} -9nc ${in} OUTPUT_FILE ${made} COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${in})
  set(${out} ${made} PARENT_SCOPE)
endfunction()

function(tributary_install_pages)
  foreach(page IN LISTS ARGN)
    string(REGEX REPLACE ".*\\." "" section ${page})
    tributary_gzip(compressed ${CMAKE_CURRENT_SOURCE_DIR}/man/${page} ${page})
    install(FILES ${compressed} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
  endforeach()
endfunction()

# Below /etc for the prefix /usr, else in the prefix: a user installs without rights there.
function(tributary_install_configurations)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE files)
  install(CODE "
    set(folder \"\${CMAKE_INSTALL_PREFIX}/etc/tributary\")
    if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
      set(folder /etc/tributary)
    endif()
    file(INSTALL DESTINATION \"\${folder}\" TYPE FILE FILES ${files})")
endfunction()

# bash and fish look for a file by the name of the program whose arguments are typed: links of the
# `programs` to that of `tributary`. zsh reads which programs a file is for.
function(tributary_install_completion)
  set(bash ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  set(fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  set(links ${CMAKE_CURRENT_BINARY_DIR}/links)
  install(FILES completion/tributary.bash RENAME tributary DESTINATION ${bash})
  install(FILES completion/tributary.fish DESTINATION ${fish})
  file(MAKE_DIRECTORY ${links})
  foreach(program IN LISTS ARGN)
    file(CREATE_LINK tributary ${links}/${program} SYMBOLIC)
    file(CREATE_LINK tributary.fish ${links}/${program}.fish SYMBOLIC)
    install(FILES ${links}/${program} DESTINATION ${bash})
    install(FILES ${links}/${program}.fish DESTINATION ${fish})
  endforeach()
endfunction()

# tributary_install_library(target component): the library, and for the component dev its headers,
# symbolic link and .pc file.
function(tributary_install_library target component)
  install(TARGETS ${target} EXPORT TributaryTargets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component} NAMELINK_COMPONENT dev
          PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tributary COMPONENT dev
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  # The tree may be moved: paths are relative to the file.
  file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(dev/${target}.pc.in ${target}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${target}.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endfunction()

# find_package(Tributary): targets Tributary::tributary and, if built, Tributary::tributary-pool.
function(tributary_install_cmake_config)
  include(CMakePackageConfigHelpers)
  set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/Tributary)
  install(EXPORT TributaryTargets NAMESPACE Tributary:: DESTINATION ${folder})
  write_basic_package_version_file(TributaryConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES dev/TributaryConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/TributaryConfigVersion.cmake
          DESTINATION ${folder})
endfunction()

# tributary_install_python(): the Python package. PyTorch's backend is a component by itself: it needs
# PyTorch.
function(tributary_install_python)
  set(folder lib/python3/dist-packages)
  set(built ${PROJECT_BINARY_DIR}/python)
  tributary_install_modules(python ${folder} tributary "tributary/torch|tributary/data"
                            tributary_python)
  install(DIRECTORY ${built}/tributary-${PROJECT_VERSION}.dist-info DESTINATION ${folder}
          COMPONENT python)
  if(TARGET tributary_data)
    tributary_install_modules(python ${folder} tributary/data "" tributary_data)
  endif()
  if(TARGET tributary_torch)
    tributary_install_modules(torch ${folder} tributary/torch "" tributary_torch)
  endif()
endfunction()

# tributary_install_modules(component folder package without target): the Python files of a package
# in the build directory, and its extension module.
function(tributary_install_modules component folder package without target)
  cmake_path(GET package PARENT_PATH above)
  set(left_out "__pycache__|[.]so$")
  if(without)
    string(APPEND left_out "|${without}")
  endif()
  install(DIRECTORY ${PROJECT_BINARY_DIR}/python/${package} DESTINATION ${folder}/${above}
          COMPONENT ${component} REGEX "${left_out}" EXCLUDE)
  install(TARGETS ${target} LIBRARY DESTINATION ${folder}/${package} COMPONENT ${component})
endfunction()
