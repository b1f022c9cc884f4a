# 32-bit ARMv7 with NEON and glibc (Debian's armhf): cmake --preset armv7
set(CMAKE_SYSTEM_PROCESSOR armv7l)
set(triple arm-linux-gnueabihf)
set(emulator qemu-arm)
include(${CMAKE_CURRENT_LIST_DIR}/clang.cmake)
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_FLAGS_INIT "-march=armv7-a -mthumb -mfpu=neon")
endforeach()
