# What `cmake --install` and `cpack -G DEB` make of the C library alone: the library, its headers,
# find_package(longwave) and pkg-config. The names and folders are those of cmake/Install.cmake, so
# a program builds against either.
if(CMAKE_C_COMPILER_TARGET AND NOT WIN32)
  # Libraries of several machines lie side by side, as Debian's do.
  set(CMAKE_INSTALL_LIBDIR lib/${CMAKE_C_COMPILER_TARGET} CACHE PATH "Object code libraries")
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_config ${CMAKE_INSTALL_LIBDIR}/cmake/longwave)
file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
install(TARGETS longwave longwave_static EXPORT longwave-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS longwave-runner RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runner)
install(DIRECTORY runtime/include/longwave DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT longwave-targets NAMESPACE longwave:: DESTINATION ${package_config} COMPONENT development)
configure_package_config_file(cmake/longwave-config.cmake.in ${PROJECT_BINARY_DIR}/generated/longwave-config.cmake INSTALL_DESTINATION ${package_config})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/longwave-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/longwave-config.cmake ${PROJECT_BINARY_DIR}/generated/longwave-config-version.cmake
  DESTINATION ${package_config} COMPONENT development)
configure_file(cmake/longwave.pc.in ${PROJECT_BINARY_DIR}/generated/longwave.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/longwave.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
if(WIN32)
  install(FILES ${PROJECT_BINARY_DIR}/longwave.def DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  set(CPACK_GENERATOR ZIP)
  include(CPack)
  return()
endif()

# Debian's name of the machine, and what the library needs there: the packages of another machine
# are not installed here, so dpkg-shlibdeps cannot look.
set(debian_x86_64 amd64)
set(debian_aarch64 arm64)
set(debian_armv7l armhf)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${debian_${CMAKE_SYSTEM_PROCESSOR}})
if(CMAKE_C_COMPILER_TARGET MATCHES musl)
  set(suffix -musl)
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS musl)
else()
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "libc6 (>= 2.34)")
endif()
set(packages runtime:liblongwave${LONGWAVE_SOVERSION}${suffix} development:liblongwave-dev${suffix} runner:longwave-runner${suffix})
include(cmake/Packages.cmake)
