# Tests under tests/unit that need neither longwave-kgen nor Vulkan have the label "quick": `tools/test --quick` builds the
# target quick_tests and runs them after every edit. A folder says set(LONGWAVE_QUICK ON) for all tests behind that line.
set(LONGWAVE_QUICK OFF)
if(LONGWAVE_TESTS)
  add_custom_target(quick_tests)
endif()

# longwave_test(<name> SOURCES a.cc b.cc LIBRARIES longwave_x ... [LABELS slow] [SHARED])
# No test has a time limit of its own, for machines may be busy: tools/test gives them all an hour, against what hangs.
# A doctest program in build/tests/, run by ctest from the root of the source tree.
# SHARED: it reads ../shared. Such a test gets LONGWAVE_SHARED in its environment and, where that folder is missing, is reported as skipped.
function(longwave_test name)
  if(NOT LONGWAVE_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "SHARED" "" "SOURCES;LIBRARIES;LABELS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE longwave_options longwave_doctest_main ${arg_LIBRARIES})
  longwave_precompiled(${name} tests)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  set(command ${name})
  if(arg_SHARED)
    set(command "${PROJECT_SOURCE_DIR}/tests/with_shared" "${LONGWAVE_SHARED}" $<TARGET_FILE:${name}>)
  endif()
  add_test(NAME ${name} COMMAND ${command} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  if(LONGWAVE_QUICK)
    list(APPEND arg_LABELS quick)
    add_dependencies(quick_tests ${name})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" SKIP_RETURN_CODE 77
    ENVIRONMENT "LONGWAVE_BUILD=${PROJECT_BINARY_DIR};LONGWAVE_SHARED=${LONGWAVE_SHARED}")
endfunction()

# longwave_script_test(<name> <script> [args...]): the same for a script; exit 77 means skipped, the last line it printed is the reason.
function(longwave_script_test name script)
  if(NOT LONGWAVE_TESTS)
    return()
  endif()
  add_test(NAME ${name} COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/${script}" ${ARGN} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set(labels "")
  if(LONGWAVE_QUICK)
    set(labels quick)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" SKIP_RETURN_CODE 77
    ENVIRONMENT "LONGWAVE_BUILD=${PROJECT_BINARY_DIR};LONGWAVE_SHARED=${LONGWAVE_SHARED}")
endfunction()
