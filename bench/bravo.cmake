# What each part of a lock made by bravo is worth.
add_executable(bravo_policies bravo_policies.cpp)
target_link_libraries(bravo_policies PRIVATE bench_contenders bench_comparison)
target_compile_options(bravo_policies PRIVATE -falign-functions=64 -falign-loops=32)
add_test(NAME bench.bravo_policies COMMAND bravo_policies --quick)
set_tests_properties(bench.bravo_policies PROPERTIES LABELS "bench" TIMEOUT 120)
