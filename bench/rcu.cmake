# The benchmarks of RCU. bench_rcu: the contenders, behind the interfaces of rcu/sides.hpp.
add_library(bench_rcu STATIC
  rcu/contenders.cpp rcu/readmost.cpp rcu/locks.cpp rcu/hazard_pointers.cpp
  rcu/lookup_tables.cpp rcu/mixed_tables.cpp rcu/semaphores.cpp)
target_include_directories(bench_rcu PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(bench_rcu PUBLIC readmost readmost_build_options)

if(READMOST_RIVALS AND NOT READMOST_SANITIZE)
  find_path(URCU_INCLUDE_DIR urcu/urcu-memb.h)
  foreach(library common memb bp qsbr mb cds)
    find_library(URCU_${library}_LIBRARY urcu-${library})
    if(NOT URCU_${library}_LIBRARY)
      set(URCU_INCLUDE_DIR URCU_INCLUDE_DIR-NOTFOUND)
    endif()
  endforeach()
  if(NOT URCU_INCLUDE_DIR)
    message(STATUS "bench: liburcu is not installed and left out; scripts/setup installs it")
  else()
    target_compile_definitions(bench_rcu PUBLIC BENCH_HAS_URCU)
    # The read side of each flavor is inline, and all flavors use the same names.
    foreach(flavor memb bp qsbr mb)
      add_library(bench_liburcu_${flavor} OBJECT rcu/liburcu.cpp)
      target_include_directories(bench_liburcu_${flavor} SYSTEM PRIVATE ${URCU_INCLUDE_DIR})
      target_compile_definitions(bench_liburcu_${flavor} PRIVATE
        BENCH_URCU_HEADER="urcu/urcu-${flavor}.h"
        BENCH_URCU_NAME="liburcu-${flavor}"
        BENCH_URCU_MAKE=make_liburcu_${flavor})
      target_link_libraries(bench_liburcu_${flavor} PRIVATE readmost readmost_build_options)
      target_sources(bench_rcu PRIVATE $<TARGET_OBJECTS:bench_liburcu_${flavor}>)
      target_link_libraries(bench_rcu PUBLIC ${URCU_${flavor}_LIBRARY})
    endforeach()
    add_library(bench_liburcu_lfht OBJECT rcu/liburcu_lfht.cpp)
    target_include_directories(bench_liburcu_lfht SYSTEM PRIVATE ${URCU_INCLUDE_DIR})
    target_link_libraries(bench_liburcu_lfht PRIVATE readmost_build_options)
    target_sources(bench_rcu PRIVATE $<TARGET_OBJECTS:bench_liburcu_lfht>)
    add_library(bench_liburcu_tables OBJECT
      rcu/liburcu_mixed_table.cpp rcu/liburcu_semaphores.cpp)
    target_include_directories(bench_liburcu_tables SYSTEM PRIVATE ${URCU_INCLUDE_DIR})
    target_link_libraries(bench_liburcu_tables PRIVATE readmost readmost_build_options)
    target_sources(bench_rcu PRIVATE $<TARGET_OBJECTS:bench_liburcu_tables>)
    target_link_libraries(bench_rcu PUBLIC ${URCU_cds_LIBRARY} ${URCU_common_LIBRARY})
  endif()
endif()

add_executable(rcu_read_pair rcu_read_pair.cpp)
target_link_libraries(rcu_read_pair PRIVATE bench_rcu benchmark::benchmark)
add_test(NAME bench.rcu_read_pair COMMAND rcu_read_pair --quick)

# What the machine's own operations cost, and how long a new version stays unseen.
add_library(bench_machine STATIC rcu/machine_costs.cpp rcu/rcu_costs.cpp rcu/versions.cpp)
target_include_directories(bench_machine PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(bench_machine PUBLIC readmost readmost_build_options)

# Programs that measure each contender in a process of its own; see comparison.hpp.
foreach(name grace_period retire_latency update_throughput retire_flood writer_frequency
  hash_table rcu_hash_table operation_costs message_cost staleness semaphore_array rcu_breakeven)
  add_executable(${name} ${name}.cpp)
  target_link_libraries(${name} PRIVATE bench_rcu bench_machine bench_comparison)
  add_test(NAME bench.${name} COMMAND ${name} --quick)
  set_tests_properties(bench.${name} PROPERTIES LABELS "bench" TIMEOUT 120)
endforeach()
set_tests_properties(bench.rcu_read_pair PROPERTIES LABELS "bench" TIMEOUT 120)

add_executable(bench_rcu_test
  rcu/sides_test.cpp rcu/lookup_tables_test.cpp rcu/mixed_tables_test.cpp rcu/semaphores_test.cpp
  rcu/breakeven_model_test.cpp rcu/machine_costs_test.cpp comparison_test.cpp percentiles_test.cpp)
target_link_libraries(bench_rcu_test PRIVATE
  bench_rcu bench_machine bench_comparison CLI11::CLI11 nlohmann_json::nlohmann_json GTest::gtest_main)
add_test(NAME bench.rcu_sides COMMAND bench_rcu_test)
set_tests_properties(bench.rcu_sides PROPERTIES LABELS "bench" TIMEOUT 300)
