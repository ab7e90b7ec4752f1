# The torture of one class over a core with one defect. The scenarios are those of the ordinary torture
# unless a header has the defect.
function(readmost_mutant_torture target name class)
  if(NOT TARGET readmost-mutant-${name})
    readmost_add_mutant(${name})
  endif()
  get_target_property(type readmost-mutant-${name} TYPE)
  if(type STREQUAL STATIC_LIBRARY)
    add_executable(${target} ${READMOST_TORTURE_DIR}/${class}_scenarios.cpp)
  else()
    add_executable(${target} $<TARGET_OBJECTS:torture-scenarios-${class}>)
  endif()
  target_link_libraries(${target}
    PRIVATE torture-frame readmost-mutant-${name} readmost_build_options)
endfunction()

# readmost_mutant_test(<name> [LOCK <lock>] SCENARIOS a b c [SECONDS s])
#
# Builds the torture over the core with one thing broken on purpose (readmost_add_mutant(<name>)) and
# adds the test mutant.<name>, which passes if and only if one of the scenarios notices.
function(readmost_mutant_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LOCK;SECONDS" "SCENARIOS")
  if(NOT arg_SCENARIOS)
    message(FATAL_ERROR "readmost_mutant_test(${name}): say which SCENARIOS should notice")
  endif()
  if(NOT arg_SECONDS)
    set(arg_SECONDS 1)
  endif()
  if(NOT arg_LOCK)
    set(arg_LOCK shared_mutex)
  endif()
  # The source is called by the lock, whatever its policy.
  string(REGEX REPLACE "-.*" "" class ${arg_LOCK})
  readmost_mutant_torture(torture-mutant-${name} ${name} ${class})
  set(scenarios ${arg_SCENARIOS})
  list(TRANSFORM scenarios PREPEND "--scenario=")
  add_test(NAME mutant.${name}
    COMMAND torture-mutant-${name} --lock ${arg_LOCK} --expect-failure
      --seconds ${arg_SECONDS} --stall 3 ${scenarios})
  set_tests_properties(mutant.${name} PROPERTIES LABELS "mutant" TIMEOUT 120 PROCESSORS 2)
endfunction()

# readmost_rcu_mutant_test(<name> SCENARIOS a b c): the same for RCU, as mutant.rcu.<name>.
function(readmost_rcu_mutant_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SCENARIOS")
  readmost_mutant_torture(torture-rcu-mutant-${name} ${name} rcu)
  set(scenarios ${arg_SCENARIOS})
  list(TRANSFORM scenarios PREPEND "--scenario=")
  add_test(NAME mutant.rcu.${name}
    COMMAND torture-rcu-mutant-${name} --lock rcu --expect-failure --seconds 2 --stall 3
      ${scenarios})
  set_tests_properties(mutant.rcu.${name} PROPERTIES LABELS "mutant" TIMEOUT 120 PROCESSORS 2)
endfunction()

# readmost_interposer_mutant_test(<name> LOCK <lock> SCENARIOS a b c): the same for what only the
# pthread functions can reach, preloaded into the ordinary torture.
function(readmost_interposer_mutant_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LOCK" "SCENARIOS")
  readmost_add_mutant(${name})
  readmost_add_interposer(readmost-pthread-mutant-${name} readmost-mutant-${name})
  set(scenarios ${arg_SCENARIOS})
  list(TRANSFORM scenarios PREPEND "--scenario=")
  add_test(NAME mutant.${name}
    COMMAND torture --lock ${arg_LOCK} --expect-failure --seconds 1 --stall 3 ${scenarios})
  set_tests_properties(mutant.${name} PROPERTIES LABELS "mutant" TIMEOUT 120 PROCESSORS 2
    ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:readmost-pthread-mutant-${name}>")
endfunction()
