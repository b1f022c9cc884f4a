# Headers of the standard library and of the libraries that most files read, parsed once instead of
# once a file. None of the tree's own: a change to one of those must not rebuild everything. A
# source still includes what it uses; clang-tidy's build, with CMAKE_DISABLE_PRECOMPILE_HEADERS=ON,
# holds it to that.
#
#   longwave_precompiled(<target> standard)   the standard library and fmt
#   longwave_precompiled(<target> json)       the same with nlohmann-json (half a second a file even
#                                             so), for what runs once a command: lightly optimised,
#                                             which halves what is left
#   longwave_precompiled(<target> tests)      the second and doctest, for test programs
# Such a header fits only the flags it was made with. A target with others makes its own:
# target_precompile_headers().

# ccache judges such a header by its content only when it may disregard that macros of the command
# line could change it. With the compiler's own list of what it read it need not preprocess every
# file first.
foreach(language IN ITEMS C CXX)
  if("${CMAKE_${language}_COMPILER_LAUNCHER}" STREQUAL ccache)
    set(CMAKE_${language}_COMPILER_LAUNCHER env CCACHE_DEPEND=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ccache)
  endif()
endforeach()

file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/precompiled.cc CONTENT "// Holds a precompiled header.\n")

# longwave_precompiled_headers(<kind> <header>...): the library that owns it.
function(longwave_precompiled_headers kind)
  set(name longwave_headers_${kind})
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/generated/precompiled.cc)
  target_link_libraries(${name} PRIVATE longwave_options fmt::fmt)
  target_precompile_headers(${name} PRIVATE
    <algorithm> <array> <cerrno> <cmath> <cstdint> <cstdio> <cstdlib> <cstring> <filesystem> <fstream> <functional>
    <map> <memory> <numeric> <optional> <set> <span> <string> <string_view> <utility> <variant> <vector>
    <fmt/format.h> ${ARGN})
endfunction()

longwave_precompiled_headers(standard)
longwave_precompiled_headers(json <nlohmann/json.hpp>)
target_link_libraries(longwave_headers_json PRIVATE longwave_runs_once)
if(LONGWAVE_TESTS)
  longwave_precompiled_headers(tests <nlohmann/json.hpp> <doctest/doctest.h>)
  target_link_libraries(longwave_headers_tests PRIVATE longwave_runs_once)
  # Programs are compiled as the compiler's default has it, libraries with -fPIC: each needs a
  # header of its own.
  set_target_properties(longwave_headers_tests PROPERTIES POSITION_INDEPENDENT_CODE OFF)
endif()

function(longwave_precompiled target kind)
  # What the header was parsed with, whether or not the target links that library.
  target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
  target_precompile_headers(${target} REUSE_FROM longwave_headers_${kind})
  if(NOT kind STREQUAL standard)
    target_link_libraries(${target} PRIVATE longwave_runs_once)
  endif()
  if(kind STREQUAL tests)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  endif()
endfunction()
