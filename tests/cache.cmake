# What ctest reads before it starts a test. All tests of a build share one cache of kernels and of GPU
# code, so each kernel is compiled once. The user's own cache is neither read nor written.
set(ENV{XDG_CACHE_HOME} "@PROJECT_BINARY_DIR@/tests/cache")
