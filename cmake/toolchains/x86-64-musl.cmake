# x86-64 with musl: cmake --preset x86-64-musl
set(machine x86_64)
include(${CMAKE_CURRENT_LIST_DIR}/musl.cmake)
