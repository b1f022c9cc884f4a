# longwave_freestanding: liblongwave-freestanding.a, the runtime without an operating system. It
# opens models that the program contains (lw_model_open_static): no files, threads, heap, mmap or
# thread-local data. It needs memcpy, memmove and memset.
set(needs_a_system audio/resampler_create.cc core/code.cc core/standard_allocator.cc core/thread_pool.cc cpu/batch.cc cpu/joined_call.cc kws/spotter_batch.cc model/linked_kernels.cc model/open.cc
    model/trust.cc model/verify.cc stream/batch.cc stream/flush.cc text/generator_batch.cc vad/detector_batch.cc)
file(GLOB sources RELATIVE ${CMAKE_CURRENT_LIST_DIR} CONFIGURE_DEPENDS
    ${CMAKE_CURRENT_LIST_DIR}/core/*.cc ${CMAKE_CURRENT_LIST_DIR}/platform/freestanding/*.cc ${CMAKE_CURRENT_LIST_DIR}/audio/*.cc ${CMAKE_CURRENT_LIST_DIR}/cpu/*.cc ${CMAKE_CURRENT_LIST_DIR}/run/*.cc ${CMAKE_CURRENT_LIST_DIR}/stream/*.cc
    ${CMAKE_CURRENT_LIST_DIR}/model/*.cc ${CMAKE_CURRENT_LIST_DIR}/text/*.cc ${CMAKE_CURRENT_LIST_DIR}/listen/*.cc
    ${CMAKE_CURRENT_LIST_DIR}/kws/*.cc ${CMAKE_CURRENT_LIST_DIR}/vad/*.cc ${CMAKE_CURRENT_LIST_DIR}/audio_stream/*.cc)
foreach(source IN LISTS needs_a_system)
  if(NOT source IN_LIST sources)
    message(FATAL_ERROR "runtime/freestanding.cmake: there is no ${source}")
  endif()
endforeach()
list(REMOVE_ITEM sources ${needs_a_system})
list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
add_library(longwave_freestanding STATIC ${sources} ${PROJECT_SOURCE_DIR}/formats/artifact/view.cc ${PROJECT_SOURCE_DIR}/formats/artifact/hash.cc)
target_link_libraries(longwave_freestanding PUBLIC longwave_schema PRIVATE longwave_options longwave_small)
target_include_directories(longwave_freestanding PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_LIST_DIR}/include>)
target_compile_definitions(longwave_freestanding PRIVATE LW_FREESTANDING)
target_compile_options(longwave_freestanding PRIVATE -fno-stack-protector -fno-unwind-tables -U_FORTIFY_SOURCE)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  target_compile_options(longwave_freestanding PRIVATE -mno-outline-atomics) # those ask the C library which CPU it is
endif()
target_precompile_headers(longwave_freestanding PRIVATE ${PROJECT_SOURCE_DIR}/formats/artifact/schema.h)
# The program decides where it lies: no table of addresses that a loader fills in. One object per
# file: a program takes what it calls.
set_target_properties(longwave_freestanding PROPERTIES POSITION_INDEPENDENT_CODE OFF UNITY_BUILD OFF LINKER_LANGUAGE C
    OUTPUT_NAME longwave-freestanding ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
add_library(longwave::freestanding ALIAS longwave_freestanding)
