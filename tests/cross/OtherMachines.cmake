# Runtimes of other machines, for tests under emulation: built with the tests, in folders of their
# own, so that no test waits for a compiler. A machine whose compiler is missing here has none, and
# its tests say what they need.
set_property(GLOBAL APPEND PROPERTY JOB_POOLS other_machines=1) # each of these builds uses all CPUs
file(GLOB_RECURSE other_machine_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/windows/*.cmake" "${PROJECT_SOURCE_DIR}/runtime/*.cc" "${PROJECT_SOURCE_DIR}/runtime/*.h" "${PROJECT_SOURCE_DIR}/formats/*.cc"
  "${PROJECT_SOURCE_DIR}/formats/*.h" "${PROJECT_SOURCE_DIR}/formats/*.fbs" "${PROJECT_SOURCE_DIR}/tools/runner/*" "${PROJECT_SOURCE_DIR}/cmake/*")
list(APPEND other_machine_sources "${PROJECT_SOURCE_DIR}/CMakeLists.txt")

# longwave_for_machine(<folder> <target> <what to build> <its file> [option...])
function(longwave_for_machine folder target what file)
  set(made "${PROJECT_BINARY_DIR}/tests/${folder}-${target}")
  set(options -DCMAKE_BUILD_TYPE=Release "-DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/cmake/toolchains/${target}.cmake" -DLONGWAVE_RUNTIME_ONLY=ON ${ARGN})
  if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES ccache)
    list(APPEND options -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  endif()
  add_custom_command(OUTPUT "${made}/${file}"
    COMMAND ${CMAKE_COMMAND} -S "${PROJECT_SOURCE_DIR}" -B "${made}" -G Ninja --log-level=WARNING ${options}
    COMMAND ${CMAKE_COMMAND} --build "${made}" --target ${what} -- --quiet
    COMMAND ${CMAKE_COMMAND} -E touch "${made}/${file}"
    DEPENDS ${other_machine_sources} JOB_POOL other_machines COMMENT "Building ${what} for ${target}" VERBATIM)
  add_custom_target(${folder}_${target} ALL DEPENDS "${made}/${file}")
endfunction()

find_program(LONGWAVE_CLANG_PROGRAM clang)
find_program(LONGWAVE_NINJA_PROGRAM ninja)
mark_as_advanced(LONGWAVE_CLANG_PROGRAM LONGWAVE_NINJA_PROGRAM)
if(NOT LONGWAVE_CLANG_PROGRAM OR NOT LONGWAVE_NINJA_PROGRAM)
  return()
endif()
file(GLOB arm64 "/usr/lib/gcc-cross/aarch64-linux-gnu/*/libstdc++.a")
file(GLOB armv7 "/usr/lib/gcc-cross/arm-linux-gnueabihf/*/libstdc++.a")
foreach(target IN ITEMS arm64 armv7)
  if(${target})
    longwave_for_machine(runner ${target} longwave-runner longwave-runner)
  endif()
endforeach()
file(GLOB windows "/usr/lib/gcc/x86_64-w64-mingw32/*-posix/libstdc++.a")
if(windows)
  longwave_for_machine(windows windows "windows_programs;longwave" longwave-runner.exe -DLONGWAVE_TESTS=ON)
endif()
set(cortex-m55 ${armv7}) # its C++ headers are those of armhf
file(WRITE "${PROJECT_BINARY_DIR}/tests/headers.cc" "#include <cstdint>\n#include <stdio.h>\n")
execute_process(COMMAND "${LONGWAVE_CLANG_PROGRAM}" --target=wasm32-wasi -fsyntax-only "${PROJECT_BINARY_DIR}/tests/headers.cc" RESULT_VARIABLE missing ERROR_QUIET)
if(missing EQUAL 0)
  set(wasm32 ON)
endif()
foreach(target IN ITEMS arm64 armv7 cortex-m55 wasm32)
  if(${target})
    longwave_for_machine(freestanding ${target} longwave_freestanding liblongwave-freestanding.a -DLONGWAVE_FREESTANDING=ON)
  endif()
endforeach()
