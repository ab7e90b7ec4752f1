# SPDX-License-Identifier: Apache-2.0
# find_package(GTest) builds Debian's sources: Debian has no GoogleTest library for another machine.
include(FetchContent)
set(INSTALL_GTEST OFF)
set(FETCHCONTENT_SOURCE_DIR_GTEST /usr/src/googletest)
FetchContent_Declare(GTest SOURCE_DIR /usr/src/googletest OVERRIDE_FIND_PACKAGE)
