# Everything found here is an imported target; a folder links only what it needs.
#   Halide::Halide        schedules (the wheel in .venv, or -DHalide_DIR)
#   flatbuffers, flatc    formats/artifact
#   nlohmann_json         formats/package, runtime/tokenizer, compiler, tools
#   fmt                   compiler, schedules
#   SPIRV_HEADERS         formats/spirv: a folder with the Khronos headers
#   PkgConfig::SPIRV_TOOLS compiler/spirv: the validator
#   PkgConfig::SODIUM     tools/cli, tests
#   PkgConfig::PCRE2, PkgConfig::UTF8PROC   runtime/tokenizer
#   PkgConfig::SNDFILE, PkgConfig::SOXR   formats/audio
#   PkgConfig::ALSA       tools/cli: the microphone of `listen`; optional
#   Python3_EXECUTABLE    schedules: the versions of kernels, at build time
#   PkgConfig::FFTW       tests/bench only: FFTW is GPL and no shipped program links it
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(fmt REQUIRED)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8>=10.40) # 10.40: Unicode 14
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(SNDFILE REQUIRED IMPORTED_TARGET sndfile>=1.1) # 1.1 reads Ogg Opus well
pkg_check_modules(SOXR REQUIRED IMPORTED_TARGET soxr)
pkg_check_modules(ALSA IMPORTED_TARGET alsa)
find_path(SPIRV_HEADERS spirv/unified1/spirv.hpp REQUIRED)
pkg_check_modules(SPIRV_TOOLS REQUIRED IMPORTED_TARGET SPIRV-Tools)
pkg_check_modules(FFTW IMPORTED_TARGET fftw3f)
find_package(Flatbuffers QUIET)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_program(FLATC flatc REQUIRED)
if(LONGWAVE_TESTS)
  find_package(doctest REQUIRED)
endif()

# The wheel's own Python interpreter is not needed to link its C++ library.
set(CMAKE_DISABLE_FIND_PACKAGE_Halide_Python ON)
file(GLOB halide_hints "${PROJECT_SOURCE_DIR}/.venv/lib*/python3*/site-packages/halide/lib*/cmake/Halide")
find_package(Halide 21 CONFIG COMPONENTS Halide HINTS ${halide_hints})
if(NOT Halide_FOUND)
  message(FATAL_ERROR "Halide 21 was not found. Run tools/setup, or: pip install halide==21.0.0 and "
                      "-DHalide_DIR=<site-packages>/halide/lib64/cmake/Halide")
endif()
