# 64-bit ARM with musl: cmake --preset arm64-musl
set(machine aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/musl.cmake)
