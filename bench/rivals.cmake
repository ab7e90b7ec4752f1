# Gives bench_locks the locks of other libraries, those that are installed.

function(bench_rival name found)
  if(NOT ${found})
    message(STATUS "bench: ${name} is not installed and left out; scripts/setup --bench installs it")
    return()
  endif()
  string(TOUPPER ${name} upper)
  target_compile_definitions(bench_locks INTERFACE BENCH_HAS_${upper})
  target_link_libraries(bench_locks INTERFACE ${ARGN})
endfunction()

find_package(absl QUIET)
bench_rival(absl absl_FOUND absl::synchronization)

find_package(TBB QUIET)
bench_rival(tbb TBB_FOUND TBB::tbb)

find_path(BOOST_THREAD_INCLUDE_DIR boost/thread/shared_mutex.hpp)
bench_rival(boost BOOST_THREAD_INCLUDE_DIR)

find_path(CK_INCLUDE_DIR ck_bytelock.h)
bench_rival(ck CK_INCLUDE_DIR)
if(CK_INCLUDE_DIR)
  # All of it is inline, and C++ but for one conversion from void*, which this copy spells out.
  file(READ ${CK_INCLUDE_DIR}/ck_bytelock.h text)
  string(REPLACE "(void *)bytelock->readers" "(CK_BYTELOCK_TYPE *)bytelock->readers" text "${text}")
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/ck/ck_bytelock.h "${text}")
  target_include_directories(bench_locks SYSTEM INTERFACE ${CMAKE_CURRENT_BINARY_DIR}/ck ${CK_INCLUDE_DIR})
endif()
