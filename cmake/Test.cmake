# Tests under tests/unit that need neither longwave-kgen nor Vulkan have the label "quick":
# `tools/test --quick` builds the target quick_tests and runs them after every edit. A folder says
# set(LONGWAVE_QUICK ON) for all tests behind that line.
set(LONGWAVE_QUICK OFF)
if(LONGWAVE_TESTS)
  add_custom_target(quick_tests)
endif()

# No test has a time limit of its own, for machines may be busy: tools/test gives them all an hour,
# against what hangs. Tests run from the root of the source tree, and find what they need in their
# environment.
function(longwave_test_properties name)
  set(labels ${ARGN})
  if(LONGWAVE_QUICK)
    list(APPEND labels quick)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" SKIP_RETURN_CODE 77
    ENVIRONMENT "LONGWAVE_BUILD=${PROJECT_BINARY_DIR};LONGWAVE_SHARED=${LONGWAVE_SHARED};LONGWAVE_ORACLES=${LONGWAVE_ORACLES}")
endfunction()

# longwave_test_program(<name> SOURCES a.cc ... LIBRARIES longwave_x ...): a doctest program in
# build/tests/, without a test.
function(longwave_test_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE longwave_options longwave_doctest_main ${arg_LIBRARIES})
  longwave_precompiled(${name} tests)
  target_link_options(${name} PRIVATE -fuse-ld=lld) # a third of the time
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  if(LONGWAVE_QUICK)
    add_dependencies(quick_tests ${name})
  endif()
endfunction()

# longwave_test(<name> SOURCES a.cc b.cc LIBRARIES longwave_x ... [LABELS slow]): a program and the
# test that runs it. LONGWAVE_ORACLES in its environment is the folder of reference tensors.
function(longwave_test name)
  if(NOT LONGWAVE_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES;LABELS")
  longwave_test_program(${name} SOURCES ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES})
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  longwave_test_properties(${name} ${arg_LABELS})
endfunction()

# longwave_tests(<program> FILES a b ... LIBRARIES longwave_x ... [SOURCES more.cc ...] [PREFIX p_]
# [VALIDATED c d ...] [LABELS slow]): one program of a_test.cc, b_test.cc ..., and one test per file: p_a_test, p_b_test
# ... Together they build in a third of the time. The namespace of a file has the file's name, so
# that its fixtures need no regard to those of the others. VALIDATED c d ...: files as well; their
# tests run under the Vulkan validation layers.
function(longwave_tests program)
  if(NOT LONGWAVE_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PREFIX" "FILES;VALIDATED;SOURCES;LIBRARIES;LABELS")
  list(APPEND arg_FILES ${arg_VALIDATED})
  list(TRANSFORM arg_FILES APPEND _test.cc OUTPUT_VARIABLE files)
  longwave_test_program(${program} SOURCES ${files} ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES})
  foreach(file IN LISTS arg_FILES)
    set(name ${arg_PREFIX}${file}_test)
    set(layers)
    if(file IN_LIST arg_VALIDATED)
      set(layers "${PROJECT_SOURCE_DIR}/tests/with_validation")
    endif()
    add_test(NAME ${name} COMMAND ${layers} $<TARGET_FILE:${program}> "--source-file=*/${file}_test.cc" WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    longwave_test_properties(${name} ${arg_LABELS})
  endforeach()
endfunction()

# longwave_script_test(<name> <script> [args...]): the same for a script; exit 77 means skipped, the
# last line it printed is the reason.
function(longwave_script_test name script)
  if(NOT LONGWAVE_TESTS)
    return()
  endif()
  add_test(NAME ${name} COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/${script}" ${ARGN} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  longwave_test_properties(${name})
endfunction()
