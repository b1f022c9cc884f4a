# Programs for Windows that tests/windows/windows_test.py runs in Wine, part of the build for Windows.
find_path(LONGWAVE_DOCTEST_HEADERS doctest/doctest.h REQUIRED NO_CMAKE_FIND_ROOT_PATH)
mark_as_advanced(LONGWAVE_DOCTEST_HEADERS)
# The headers fit every system, but the folder that they lie in also has the C library of this one.
set(headers ${PROJECT_BINARY_DIR}/generated/doctest-only)
file(MAKE_DIRECTORY ${headers})
file(CREATE_LINK ${LONGWAVE_DOCTEST_HEADERS}/doctest ${headers}/doctest SYMBOLIC)
file(GLOB platform CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/runtime/platform/windows/*.cc)
add_executable(windows_platform_test ${PROJECT_SOURCE_DIR}/tests/unit/runtime/platform_test.cc ${platform})
target_include_directories(windows_platform_test SYSTEM PRIVATE ${headers})
target_compile_definitions(windows_platform_test PRIVATE DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN)
target_link_libraries(windows_platform_test PRIVATE longwave_options Threads::Threads)
target_link_options(windows_platform_test PRIVATE -static)
# As a user's program is linked: with the DLL.
add_executable(windows_spot ${PROJECT_SOURCE_DIR}/examples/c/spot.c)
target_link_libraries(windows_spot PRIVATE longwave)
set_target_properties(windows_platform_test PROPERTIES UNITY_BUILD OFF)
add_custom_target(windows_programs DEPENDS windows_platform_test windows_spot longwave-runner)
