# SPDX-License-Identifier: Apache-2.0
# musl for READMOST_MUSL_CPU (x86_64, aarch64 or riscv64): zig's compiler and libc++, which scripts/musl
# puts into out/musl, and qemu-user to run the output for another machine.
set(READMOST_MUSL_CPU x86_64 CACHE STRING "Processor to build for")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES READMOST_MUSL_CPU)
set(musl_tools ${CMAKE_CURRENT_LIST_DIR}/../out/musl)
get_filename_component(musl_tools ${musl_tools} ABSOLUTE)
if(NOT EXISTS ${musl_tools}/bin/${READMOST_MUSL_CPU}-c++)
  message(FATAL_ERROR "no compiler for musl in ${musl_tools}; run scripts/musl first")
endif()

set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${READMOST_MUSL_CPU})
set(CMAKE_C_COMPILER ${musl_tools}/bin/${READMOST_MUSL_CPU}-cc)
set(CMAKE_CXX_COMPILER ${musl_tools}/bin/${READMOST_MUSL_CPU}-c++)
set(CMAKE_AR ${musl_tools}/bin/ar)
set(CMAKE_RANLIB ${musl_tools}/bin/ranlib)
if(NOT READMOST_MUSL_CPU STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${READMOST_MUSL_CPU};-L;${musl_tools}/${READMOST_MUSL_CPU})
endif()

# Nothing of this machine, whose headers are glibc's: only what scripts/musl has put there.
set(CMAKE_FIND_ROOT_PATH ${musl_tools}/${READMOST_MUSL_CPU} ${musl_tools}/packages)
file(GLOB fmt_DIR ${musl_tools}/packages/usr/lib/*/cmake/fmt)
foreach(kind IN ITEMS INCLUDE LIBRARY PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
