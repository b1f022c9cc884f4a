# What `cmake --install` and `cpack -G DEB` make, in five parts that can be installed apart:
#   runtime       liblongwave.so: what a device needs; liblongwave-vulkan.so, where it was built:
#                 what a GPU needs beside it
#   text          liblongwave-text.so: the tokenizer of language models; needs PCRE2 and utf8proc
#   pack          liblongwave-pack.so: other weights for a compiled model; needs the C++ library
#   development   headers, liblongwave.a, liblongwave-text.a, find_package(longwave), pkg-config
#   tools         longwave with its manual and shell completions, longwave-kgen beside it, and
#                 libHalide.so in a folder of its own under the library folder: that library comes
#                 from a Python wheel, is found by no search path and fits exactly this
#                 longwave-kgen
# Everything is found relative to itself, so a prefix may be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(private_libraries ${CMAKE_INSTALL_LIBDIR}/longwave)
set(package_config ${CMAKE_INSTALL_LIBDIR}/cmake/longwave)
file(RELATIVE_PATH to_libraries /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
file(RELATIVE_PATH to_private_libraries /${CMAKE_INSTALL_BINDIR} /${private_libraries})
file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)

install(TARGETS longwave longwave_static EXPORT longwave-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set_target_properties(longwave_text PROPERTIES INSTALL_RPATH "$ORIGIN") # the runtime lies beside it
install(TARGETS longwave_text longwave_text_static EXPORT longwave-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT text NAMELINK_COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set_target_properties(longwave_pack PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS longwave_pack EXPORT longwave-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT pack NAMELINK_COMPONENT development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(LONGWAVE_VULKAN)
  set_target_properties(longwave_vulkan PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(TARGETS longwave_vulkan EXPORT longwave-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
install(DIRECTORY runtime/include/longwave DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT longwave-targets NAMESPACE longwave:: DESTINATION ${package_config} COMPONENT development)
configure_package_config_file(cmake/longwave-config.cmake.in ${PROJECT_BINARY_DIR}/generated/longwave-config.cmake
  INSTALL_DESTINATION ${package_config})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/longwave-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/longwave-config.cmake ${PROJECT_BINARY_DIR}/generated/longwave-config-version.cmake
  DESTINATION ${package_config} COMPONENT development)
configure_file(cmake/longwave.pc.in ${PROJECT_BINARY_DIR}/generated/longwave.pc @ONLY)
configure_file(cmake/longwave-text.pc.in ${PROJECT_BINARY_DIR}/generated/longwave-text.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/longwave.pc ${PROJECT_BINARY_DIR}/generated/longwave-text.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

set_target_properties(longwave_program PROPERTIES INSTALL_RPATH "$ORIGIN/${to_libraries}")
set_target_properties(longwave-kgen PROPERTIES INSTALL_RPATH "$ORIGIN/${to_private_libraries}")
install(TARGETS longwave_program longwave-kgen RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
install(FILES $<TARGET_FILE:Halide::Halide> DESTINATION ${private_libraries} COMPONENT tools)

# Man pages and shell completions: written by the program itself (tools/cli/CMakeLists.txt).
set(manual ${PROJECT_BINARY_DIR}/generated/manual)
install(DIRECTORY ${manual}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT tools)
install(FILES ${manual}/bash/longwave DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions COMPONENT tools)
install(FILES ${manual}/zsh/_longwave DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/zsh/site-functions COMPONENT tools)
install(FILES ${manual}/fish/longwave.fish DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/fish/vendor_completions.d COMPONENT tools)

# Everything that is installed, and no test: tools/setup --install.
add_custom_target(longwave_installed DEPENDS longwave longwave_static longwave_text longwave_text_static longwave_pack longwave_program longwave-kgen
  longwave_manual_files)
if(LONGWAVE_VULKAN)
  add_dependencies(longwave_installed longwave_vulkan)
endif()

get_filename_component(halide_licence "${Halide_DIR}/../../../share/doc/Halide/LICENSE.txt" ABSOLUTE)
install(FILES ${halide_licence} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/longwave COMPONENT tools RENAME copyright.halide)

set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS lld) # for wasm32; libraries are found in the programs
find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
if(DPKG_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR} ${Halide_DIR}/../..)
endif()
set(packages runtime:liblongwave${LONGWAVE_SOVERSION} text:liblongwave-text${LONGWAVE_SOVERSION}
    pack:liblongwave-pack${LONGWAVE_SOVERSION} development:liblongwave-dev tools:longwave)
include(cmake/Packages.cmake)
