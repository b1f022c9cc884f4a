# WebAssembly: the runtime without an operating system (-DLONGWAVE_RUNTIME_ONLY=ON
# -DLONGWAVE_FREESTANDING=ON). It takes headers from Debian's libc++-14-dev-wasm32 and wasi-libc,
# and asks no WASI function of the engine.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
find_program(LONGWAVE_CLANG NAMES clang clang-19 clang-16 clang-14 REQUIRED)
mark_as_advanced(LONGWAVE_CLANG)
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_COMPILER_TARGET wasm32-wasi)
  set(CMAKE_${language}_FLAGS_INIT "-msimd128 -mbulk-memory")
endforeach()
set(CMAKE_C_COMPILER ${LONGWAVE_CLANG})
set(CMAKE_CXX_COMPILER ${LONGWAVE_CLANG}++)
# Who writes a module links it (examples/web/Makefile).
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
find_program(CMAKE_AR NAMES llvm-ar llvm-ar-19 llvm-ar-16 llvm-ar-14 REQUIRED)
find_program(CMAKE_RANLIB NAMES llvm-ranlib llvm-ranlib-19 llvm-ranlib-16 llvm-ranlib-14 REQUIRED)
set(CMAKE_FIND_ROOT_PATH /usr/lib/wasm32-wasi)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_SYSTEM_PREFIX_PATH /usr/local /usr) # of the tools, and of headers that fit every machine
