# Cortex-M55 with Helium, for firmware: Thumb code and hard floating point. With
# LONGWAVE_RUNTIME_ONLY and LONGWAVE_FREESTANDING alone. The C++ headers are those of Debian's
# armhf. Nothing of its libraries is linked.
set(CMAKE_SYSTEM_PROCESSOR cortex-m55)
set(triple arm-linux-gnueabihf)
set(emulator qemu-arm)
include(${CMAKE_CURRENT_LIST_DIR}/clang.cmake)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # no program runs without a board
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_COMPILER_TARGET thumbv8.1m.main-linux-gnueabihf)
  set(CMAKE_${language}_FLAGS_INIT "-mcpu=cortex-m55 -mfloat-abi=hard")
endforeach()
