# SPDX-License-Identifier: Apache-2.0
# The files that `make install` installs, in the folders of GNUInstallDirs.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/readmost)

set_target_properties(readmost-shared PROPERTIES EXPORT_NAME shared)
install(TARGETS readmost readmost-shared EXPORT readmost-targets)
# `--strip` leaves static libraries alone.
install(CODE "
  if(CMAKE_INSTALL_DO_STRIP)
    execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-unneeded
      \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libreadmost.a\" COMMAND_ERROR_IS_FATAL ANY)
  endif()")
install(TARGETS readmost-pthread)
if(TARGET readmost-lab)
  install(TARGETS readmost-lab)
endif()
if(READMOST_COMMAND)
  install(TARGETS readmost-command)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

install(EXPORT readmost-targets NAMESPACE readmost:: DESTINATION ${package_dir})
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/readmost-config.cmake.in ${CMAKE_BINARY_DIR}/readmost-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
  ${CMAKE_BINARY_DIR}/readmost-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/readmost-config.cmake ${CMAKE_BINARY_DIR}/readmost-config-version.cmake
        DESTINATION ${package_dir})

set(checks "")
if(READMOST_RCU_CHECK)
  set(checks " -DREADMOST_RCU_CHECK")
endif()
# pkg-config wants the prefix spelled out, and `cmake --install --prefix` may still change it.
install(CODE "
  set(version ${PROJECT_VERSION})
  set(description \"${PROJECT_DESCRIPTION}\")
  set(libdir ${CMAKE_INSTALL_LIBDIR})
  set(includedir ${CMAKE_INSTALL_INCLUDEDIR})
  set(checks \"${checks}\")
  configure_file(${CMAKE_CURRENT_LIST_DIR}/readmost.pc.in ${CMAKE_BINARY_DIR}/readmost.pc @ONLY)")
install(FILES ${CMAKE_BINARY_DIR}/readmost.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# gdb loads a script with a library if it lies below its own folder, at the library's path; this one loads
# the common script. Elsewhere users name the common script.
set(gdb_script ${PROJECT_SOURCE_DIR}/tools/gdb/readmost-gdb.py)
install(FILES ${gdb_script} DESTINATION ${CMAKE_INSTALL_DATADIR}/readmost)
set(gdb_folder ${CMAKE_INSTALL_DATADIR}/gdb/auto-load\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR})
foreach(library IN ITEMS libreadmost.so.${PROJECT_VERSION} libreadmost-pthread.so)
  install(FILES ${PROJECT_SOURCE_DIR}/tools/gdb/load-gdb.py RENAME ${library}-gdb.py DESTINATION ${gdb_folder})
endforeach()
# Where an installation has it.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/${CMAKE_INSTALL_DATADIR}/readmost)
file(CREATE_LINK ${gdb_script} ${CMAKE_BINARY_DIR}/${CMAKE_INSTALL_DATADIR}/readmost/readmost-gdb.py SYMBOLIC)

foreach(section IN ITEMS 1 3)
  file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/man/*.${section})
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
