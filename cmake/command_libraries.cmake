# SPDX-License-Identifier: Apache-2.0
# The libraries that the command is linked with: static ones by default, so that the command runs
# wherever its C library does, in a container of nothing else too. A distribution's package turns that
# off.
option(READMOST_STATIC_COMMAND "Link all but the C library into the command" ON)

# As find_library(<variable> <name> [REQUIRED]), but the static library if the command is to be linked
# with those and there is one. An optional library that is not found leaves <variable> false.
function(readmost_find_command_library variable name)
  if(READMOST_STATIC_COMMAND)
    find_library(${variable} NAMES lib${name}.a ${name} ${ARGN})
  else()
    find_library(${variable} NAMES ${name} ${ARGN})
  endif()
endfunction()

# The compiler's own libraries, for a program that links the ones found above.
function(readmost_link_command target)
  if(READMOST_STATIC_COMMAND)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections)
    # The library's code looks for the demangler by its name, since most programs have none.
    if(READMOST_FOR_GLIBC)
      target_link_options(${target} PRIVATE
        -Wl,--undefined=__cxa_demangle -Wl,--export-dynamic-symbol=__cxa_demangle)
    endif()
  endif()
endfunction()
