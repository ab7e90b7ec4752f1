# The benchmarks of reader-writer locks. bench_contenders: the locks, behind the interfaces of
# locks/contender.hpp, so that the programs need not know them.
add_library(bench_contenders STATIC
  locks/contenders.cpp locks/system_locks.cpp locks/bravo_locks.cpp locks/rival_locks.cpp
  locks/library_locks.cpp locks/string_table.cpp locks/timed_run.cpp)
target_link_libraries(bench_contenders PUBLIC bench_locks)
# No lock's loop is to be faster than another's because it happens to lie better.
target_compile_options(bench_contenders PRIVATE -falign-functions=64 -falign-loops=32)

# Programs that measure each contender in a process of its own; see comparison.hpp.
function(readmost_lock_benchmark name)
  add_executable(${name} ${name}.cpp)
  target_link_libraries(${name} PRIVATE bench_contenders bench_comparison)
  # Only that it works: a figure from a shared machine proves nothing.
  add_test(NAME bench.${name} COMMAND ${name} --quick)
  set_tests_properties(bench.${name} PROPERTIES LABELS "bench" TIMEOUT 120)
endfunction()

readmost_lock_benchmark(rwbench_locks)
readmost_lock_benchmark(alternator)
readmost_lock_benchmark(test_rwlock)
readmost_lock_benchmark(hash_table_bench)
readmost_lock_benchmark(critical_section)
readmost_lock_benchmark(lock_sizes)
readmost_lock_benchmark(lock_sleeping_readers)
readmost_lock_benchmark(lock_writer_frequency)
readmost_lock_benchmark(lock_interference)

# Options of a program's own get through to its contenders' processes.
add_test(NAME bench.own_options
  COMMAND rwbench_locks --only prwlock --turns 1 --threads 3 --seconds 0.01 --probability 0.25)
set_tests_properties(bench.own_options PROPERTIES LABELS "bench" TIMEOUT 60
  PASS_REGULAR_EXPRESSION "RWBench, P = 0.25\n  prwlock +3, loops per second +[0-9.e+]+\n$")

add_executable(bench_contenders_test locks/contenders_test.cpp)
target_link_libraries(bench_contenders_test PRIVATE bench_contenders GTest::gtest_main)
add_test(NAME bench.contenders
  COMMAND bench_contenders_test --gtest_filter=-locks_that_do_not_lock.*)
set_tests_properties(bench.contenders PROPERTIES LABELS "bench" TIMEOUT 120)
# ThreadSanitizer would notice them itself.
if(NOT READMOST_SANITIZE STREQUAL "thread")
  add_test(NAME bench.locks_that_do_not_lock
    COMMAND bench_contenders_test --gtest_filter=locks_that_do_not_lock.*)
  set_tests_properties(bench.locks_that_do_not_lock PROPERTIES LABELS "bench" TIMEOUT 120)
endif()
