# What `cpack -G DEB` makes of the installed parts. Whoever includes this sets `packages`: a list of
# PART:NAME. Debian wants the licence in each package.
foreach(package IN LISTS packages)
  string(REPLACE ":" ";" package ${package})
  list(GET package 0 component)
  list(GET package 1 name)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${name} COMPONENT ${component} RENAME copyright)
  string(TOUPPER ${component} component)
  set(CPACK_DEBIAN_${component}_PACKAGE_NAME ${name})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The Longwave authors <longwave@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_TEXT_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACK_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "runtime of Longwave models
 Runs compiled long-convolution sequence models, whole or as a stream. Needs libc only.")
set(CPACK_COMPONENT_TEXT_DESCRIPTION "tokenizer of Longwave language models
 Byte-level BPE from tokenizer.json: text to token ids and back.")
set(CPACK_COMPONENT_PACK_DESCRIPTION "other weights for compiled Longwave models
 Exchanges the weights of a compiled model without the compiler.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "headers and static library of the Longwave runtime
 For C and C++ programs that run compiled long-convolution sequence models.")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "compiler and command line for long-convolution sequence models
 Compiles model packages into one file, runs and measures it, listens for keywords.")
set(CPACK_COMPONENT_RUNNER_DESCRIPTION "Longwave models behind a pipe
 Serves the runtime to a compiler on another machine, which checks its code here.")
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_COMPONENT_DEVELOPMENT_DEPENDS runtime)
foreach(library text pack)
  if(${library} IN_LIST CPACK_COMPONENTS_ALL)
    list(APPEND CPACK_COMPONENT_DEVELOPMENT_DEPENDS ${library})
  endif()
endforeach()
set(CPACK_COMPONENT_TOOLS_DEPENDS runtime)
include(CPack)
