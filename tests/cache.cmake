# What ctest reads before it starts a test. All tests share one cache of kernels and of GPU code, so each
# kernel is compiled once. The user's own cache is neither read nor written. LONGWAVE_TEST_CACHE names
# another folder: builds with sanitizers share that of the ordinary build.
if(NOT DEFINED ENV{LONGWAVE_TEST_CACHE})
  set(ENV{LONGWAVE_TEST_CACHE} "@PROJECT_BINARY_DIR@/tests/cache")
endif()
set(ENV{XDG_CACHE_HOME} "$ENV{LONGWAVE_TEST_CACHE}")
