# Benchmarks that are real programs over real libraries, each lock preloaded under them.
if(NOT TARGET readmost-pthread OR READMOST_SANITIZE)
  message(STATUS "bench: real programs need the preloaded library, without sanitizers; left out")
  return()
endif()

find_package(Boost REQUIRED)
find_path(RE2_INCLUDE_DIR re2/re2.h REQUIRED)
find_library(RE2_LIBRARY re2 REQUIRED)
set(command_sources ${PROJECT_SOURCE_DIR}/tools/readmost)
# How the command starts programs is how they are started here.
add_library(bench_programs STATIC
  programs/launcher.cpp
  ${command_sources}/child.cpp
  ${command_sources}/environment.cpp
  ${command_sources}/preload.cpp
  ${command_sources}/program_file.cpp
  ${command_sources}/signal_watch.cpp)
target_compile_definitions(bench_programs PRIVATE READMOST_LIBRARY_DIR="${CMAKE_INSTALL_LIBDIR}")
target_include_directories(bench_programs
  PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/programs ${command_sources}
  PRIVATE ${PROJECT_SOURCE_DIR}/src
  SYSTEM PRIVATE ${RE2_INCLUDE_DIR})
target_link_libraries(bench_programs PUBLIC
  bench_comparison readmost readmost_build_options Boost::headers ${RE2_LIBRARY})
add_dependencies(bench_programs readmost-pthread)

# A program that compares locks; options after the name are for its test.
function(bench_of_programs name)
  add_executable(${name} programs/${name}.cpp)
  target_link_libraries(${name} PRIVATE bench_programs)
  add_test(NAME bench.${name} COMMAND ${name} --quick --only pthread prwlock ${ARGN})
  set_tests_properties(bench.${name} PROPERTIES LABELS "bench" TIMEOUT 120)
endfunction()

find_path(ROCKSDB_INCLUDE_DIR rocksdb/db.h)
find_library(ROCKSDB_LIBRARY rocksdb)
if(NOT ROCKSDB_INCLUDE_DIR OR NOT ROCKSDB_LIBRARY)
  message(STATUS "bench: rocksdb is not installed and left out; scripts/setup --bench installs it")
else()
  add_executable(bench_readwhilewriting programs/readwhilewriting.cpp)
  set_target_properties(bench_readwhilewriting PROPERTIES
    OUTPUT_NAME readwhilewriting RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/programs)
  target_include_directories(bench_readwhilewriting
    PRIVATE ${PROJECT_SOURCE_DIR}/examples SYSTEM PRIVATE ${ROCKSDB_INCLUDE_DIR})
  target_link_libraries(bench_readwhilewriting PRIVATE
    readmost_build_options CLI11::CLI11 fmt::fmt ${ROCKSDB_LIBRARY})
  bench_of_programs(rocksdb_readwhilewriting)
  add_dependencies(rocksdb_readwhilewriting bench_readwhilewriting)

  add_library(bench_no_rwlock SHARED programs/no_rwlock.c)
  add_test(NAME bench.readwhilewriting_notices_a_lock_that_is_none
    COMMAND bench_readwhilewriting --threads 2 --seconds 1 --keys 1 --value-words 5000)
  set_tests_properties(bench.readwhilewriting_notices_a_lock_that_is_none PROPERTIES
    LABELS "bench" TIMEOUT 60
    ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:bench_no_rwlock>"
    PASS_REGULAR_EXPRESSION "half-written value")
endif()

find_program(KCCACHETEST_PROGRAM kccachetest)
find_program(KCPROTOTEST_PROGRAM kcprototest)
if(NOT KCCACHETEST_PROGRAM OR NOT KCPROTOTEST_PROGRAM)
  message(STATUS "bench: Kyoto Cabinet is not installed and left out; scripts/setup installs it")
else()
  bench_of_programs(kyoto_cabinet)
  target_compile_definitions(kyoto_cabinet PRIVATE
    BENCH_KCCACHETEST="${KCCACHETEST_PROGRAM}" BENCH_KCPROTOTEST="${KCPROTOTEST_PROGRAM}")
endif()

find_path(GOOGLETEST_SOURCE_DIR src/gtest-port.cc PATHS /usr/src/googletest/googletest)
# The distribution's own, not a script that looks for one.
find_program(DEBIAN_PYTHON_PROGRAM python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT KCCACHETEST_PROGRAM OR NOT GOOGLETEST_SOURCE_DIR OR NOT DEBIAN_PYTHON_PROGRAM)
  message(STATUS "bench: single_thread_impact needs Kyoto Cabinet, the source of GoogleTest and "
                 "/usr/bin/python3, and is left out; scripts/setup --bench installs them")
else()
  bench_of_programs(single_thread_impact)
  target_compile_definitions(single_thread_impact PRIVATE
    BENCH_COMPILER="${CMAKE_CXX_COMPILER}" BENCH_GOOGLETEST="${GOOGLETEST_SOURCE_DIR}"
    BENCH_KCCACHETEST="${KCCACHETEST_PROGRAM}" BENCH_PYTHON="${DEBIAN_PYTHON_PROGRAM}")
endif()

find_program(NODE_PROGRAM NAMES node nodejs REQUIRED)
bench_of_programs(real_programs)
target_compile_definitions(real_programs PRIVATE
  BENCH_NODE="${NODE_PROGRAM}" BENCH_NODE_PEM="${PROJECT_SOURCE_DIR}/examples/node_pem.js")
add_dependencies(real_programs
  example_re2_shared example_pmr_pool example_openssl_fetch example_x509_parse example_shared_map)

add_executable(bench_launcher_test programs/launcher_test.cpp)
target_link_libraries(bench_launcher_test PRIVATE bench_programs GTest::gmock GTest::gtest_main)
add_dependencies(bench_launcher_test example_rwbench)
add_test(NAME bench.launcher COMMAND bench_launcher_test)
set_tests_properties(bench.launcher PROPERTIES LABELS "bench" TIMEOUT 60)
