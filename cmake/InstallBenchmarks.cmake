# What `longwave bench conv` and the like start, beside libHalide.so in the private folder. A part
# of its own, in no Debian package: FFTW and zita-convolver, which some link, are GPL.
include(GNUInstallDirs)
set(private ${CMAKE_INSTALL_LIBDIR}/longwave)
file(RELATIVE_PATH to_programs /${private} /${CMAKE_INSTALL_BINDIR})
foreach(name IN ITEMS conv conv_gpu stream linear planner read)
  if(TARGET bench_${name})
    install(TARGETS bench_${name} RUNTIME DESTINATION ${private} COMPONENT benchmarks)
  endif()
endforeach()

# Those in Python, with the files of the tree that they import, in folders as in the tree.
foreach(name IN ITEMS torch/bench_model torch/bench_block text/bench_text)
  get_filename_component(program ${name} NAME)
  set(launcher ${PROJECT_BINARY_DIR}/generated/installed/${program})
  file(CONFIGURE OUTPUT ${launcher} CONTENT [[#!/bin/sh
here=$(dirname "$0")
exec "${LONGWAVE_PYTHON:-python3}" "$here/source/tests/bench/@name@.py" --longwave "$here/@to_programs@/longwave" "$@"
]] @ONLY NEWLINE_STYLE UNIX)
  install(PROGRAMS ${launcher} DESTINATION ${private} COMPONENT benchmarks)
endforeach()
foreach(folder IN ITEMS tests/bench/torch tests/bench/text tools/python/longwave)
  get_filename_component(parent ${folder} DIRECTORY)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${private}/source/${parent} COMPONENT benchmarks
    FILES_MATCHING PATTERN "*.py")
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/tests/conformance/sc10_package.py DESTINATION ${private}/source/tests/conformance
  COMPONENT benchmarks)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/kws/model DESTINATION ${private}/source/examples/kws COMPONENT benchmarks)
