# 64-bit Android with the NDK: ANDROID_NDK names its folder.
#   cmake -S . -B build/android --toolchain examples/boards/android/arm64.cmake -DLONGWAVE_RUNTIME_ONLY=ON
# Without an NDK the same clang target compiles what needs no system:
#   ... -DLONGWAVE_RUNTIME_ONLY=ON -DLONGWAVE_FREESTANDING=ON
set(ANDROID_NDK "$ENV{ANDROID_NDK}" CACHE PATH "Folder of the NDK")
set(ANDROID_ABI arm64-v8a)
set(ANDROID_PLATFORM android-26) # 64-bit Android of 2017 and later
set(ANDROID_STL c++_static)      # for its headers: the runtime takes nothing else of it
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ANDROID_NDK)
if(ANDROID_NDK)
  find_path(LONGWAVE_FLATBUFFERS_HEADERS flatbuffers/flatbuffers.h HINTS /usr/include /usr/local/include NO_CMAKE_FIND_ROOT_PATH)
  include(${ANDROID_NDK}/build/cmake/android.toolchain.cmake)
  return()
endif()
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
find_program(LONGWAVE_CLANG NAMES clang clang-19 clang-16 clang-14 REQUIRED)
mark_as_advanced(LONGWAVE_CLANG)
set(CMAKE_C_COMPILER ${LONGWAVE_CLANG})
set(CMAKE_CXX_COMPILER ${LONGWAVE_CLANG}++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # nothing can be linked
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_COMPILER_TARGET aarch64-linux-android26)
  # The headers of Debian's cross compiler: only constants and types of them are used. The macro
  # would ask for headers of the NDK.
  set(CMAKE_${language}_FLAGS_INIT "-U__ANDROID__ -isystem /usr/aarch64-linux-gnu/include")
endforeach()
set(CMAKE_SYSTEM_PREFIX_PATH /usr/local /usr) # of the tools, and of headers that fit every machine
set(CMAKE_CXX_FLAGS_INIT "${CMAKE_CXX_FLAGS_INIT} -isystem /usr/aarch64-linux-gnu/include/c++/12 -isystem /usr/aarch64-linux-gnu/include/c++/12/aarch64-linux-gnu")
find_program(CMAKE_AR NAMES llvm-ar llvm-ar-19 llvm-ar-16 llvm-ar-14 REQUIRED)
find_program(CMAKE_RANLIB NAMES llvm-ranlib llvm-ranlib-19 llvm-ranlib-16 llvm-ranlib-14 REQUIRED)
