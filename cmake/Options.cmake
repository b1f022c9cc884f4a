# longwave_options: what every target of the tree is compiled with. Link it PRIVATE.
add_library(longwave_options INTERFACE)
target_compile_features(longwave_options INTERFACE cxx_std_20)
target_include_directories(longwave_options INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/runtime/include")
target_compile_options(longwave_options INTERFACE
  -Wall -Wextra -Wshadow -Wvla $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> -Wno-missing-field-initializers
  -ffp-contract=off                              # the same bits whether or not the machine has fused multiply-add
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.      # no build paths in the binaries
  -fvisibility=hidden)
if(WIN32)
  target_compile_definitions(longwave_options INTERFACE LW_STATIC) # nothing of the tree comes from a DLL
endif()
# What runs once a command, for milliseconds (the passes, reports, flags), is not worth the time
# that optimising it takes.
add_library(longwave_runs_once INTERFACE)
target_compile_options(longwave_runs_once INTERFACE $<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
# The runtime and the part of the artifact's code that it contains: small, and without the C++
# library.
add_library(longwave_small INTERFACE)
target_compile_options(longwave_small INTERFACE
  -fno-exceptions -fno-rtti -fno-threadsafe-statics -ffunction-sections -fdata-sections
  -fno-asynchronous-unwind-tables $<$<NOT:$<CONFIG:Debug>>:-Oz>
  -ftls-model=initial-exec) # thread-local data is there from the start: reaching it never allocates
if(CMAKE_SIZEOF_VOID_P EQUAL 4)
  target_compile_definitions(longwave_small INTERFACE _FILE_OFFSET_BITS=64) # or files with large numbers cannot be opened
endif()
# The shared runtime is optimised as a whole at link time, which makes it 8 kB smaller. It has
# objects of its own for that: the archive keeps ordinary objects, which any linker takes.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  set(LONGWAVE_LINK_TIME ON)
else()
  set(LONGWAVE_LINK_TIME OFF)
endif()
# gcc 12 takes the buffers of its own std::string and std::vector for copies onto themselves,
# overflows and uninitialised reads, more so under sanitizers.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(longwave_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict -Wno-stringop-overflow -Wno-maybe-uninitialized -Wno-array-bounds>)
endif()

# The GPU driver of programs with AddressSanitizer (tests/support/sanitized.cc).
if(LONGWAVE_TESTS AND CMAKE_CXX_FLAGS MATCHES "-fsanitize=address")
  set(is_program $<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>)
  link_libraries("$<${is_program}:$<TARGET_OBJECTS:longwave_sanitized>>")
  add_link_options($<${is_program}:LINKER:--export-dynamic-symbol=dlclose>)
endif()

# A shared library defines or imports every name. Clang's sanitizers leave theirs to the program.
set(LONGWAVE_ALL_DEFINED LINKER:--no-undefined)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  set(LONGWAVE_ALL_DEFINED "")
endif()
