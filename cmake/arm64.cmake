# SPDX-License-Identifier: Apache-2.0
# 64-bit Arm from another machine: Debian's cross compiler, and qemu-user to run its output.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;/usr/aarch64-linux-gnu)

# Only fmt's headers are used, but its package description lies among this machine's libraries.
file(GLOB fmt_DIR /usr/lib/*-linux-gnu/cmake/fmt)
