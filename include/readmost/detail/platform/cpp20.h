// SPDX-License-Identifier: Apache-2.0
// Ends the compilation under an older standard, which would complain of every line of the headers.
// Only a missing include is fatal by itself, so the sentence is the name of one. The file is no
// .hpp so that clang-format sorts it before all others.
#pragma once

#if __cplusplus < 202002L
#include "Readmost needs C++20: compile with -std=c++20 or later"
#endif
