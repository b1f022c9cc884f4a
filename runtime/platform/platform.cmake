# How the libraries of the runtime fit a system.

# What of runtime/platform a library contains. A folder holds one file for each subject:
# runtime/platform/linux/, or that of another system. longwave_platform(OUT subjects...) gives their paths.
function(longwave_platform out)
  string(TOLOWER "${CMAKE_SYSTEM_NAME}" system)
  set(folder ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${system})
  if(NOT IS_DIRECTORY ${folder})
    message(FATAL_ERROR "runtime/platform has no folder ${system}: runtime/platform/README.md says what a port needs")
  endif()
  set(sources ${ARGN})
  list(TRANSFORM sources PREPEND ${folder}/)
  list(TRANSFORM sources APPEND .cc)
  # A program that links two of the archives takes each of these objects once: no unity build merges them.
  set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# longwave_link(TARGET MAP [NARROW] [OWN_CALLS]): a shared library exports what MAP names.
# NARROW: so small a library is not padded to whole pages in three more places.
# OWN_CALLS: its own calls stay inside: no detour, and no other library's functions of that name.
# Windows knows neither: pages are 64 kB there, and calls stay inside. NAME.def beside the library has the names.
function(longwave_link target map)
  cmake_parse_arguments(PARSE_ARGV 2 arg "NARROW;OWN_CALLS" "" "")
  if(WIN32)
    get_target_property(name ${target} OUTPUT_NAME)
    if(NOT name)
      set(name ${target})
    endif()
    set(def ${PROJECT_BINARY_DIR}/${name}.def)
    set(archive $<TARGET_FILE:${target}_static>) # of the same objects
    set(script ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/windows/exports.cmake)
    add_custom_command(OUTPUT ${def} COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DMAP=${map} -DOUT=${def} -P ${script} -- ${archive}
      DEPENDS ${map} ${script} ${target}_static VERBATIM)
    target_sources(${target} PRIVATE ${def})
    set_target_properties(${target} PROPERTIES PREFIX "" ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR} LINK_DEPENDS ${def})
    target_link_options(${target} PRIVATE LINKER:--gc-sections,--strip-all)
    return()
  endif()
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${map})
  target_link_options(${target} PRIVATE LINKER:--version-script=${map} LINKER:--gc-sections ${LONGWAVE_ALL_DEFINED}
    LINKER:-z,relro,-z,now LINKER:--as-needed)
  if(arg_NARROW)
    target_link_options(${target} PRIVATE LINKER:-z,noseparate-code)
  endif()
  if(arg_OWN_CALLS)
    target_link_options(${target} PRIVATE LINKER:-Bsymbolic)
  endif()
endfunction()
