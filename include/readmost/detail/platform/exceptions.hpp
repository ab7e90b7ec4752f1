// SPDX-License-Identifier: Apache-2.0
// Exceptions in inline code, for programs that are compiled without them: what would throw ends the
// program there, and what another function throws is not caught.
#pragma once

#if defined(__cpp_exceptions)
#define READMOST_THROW(exception) throw exception
#define READMOST_RETHROW() throw
#define READMOST_TRY try
#define READMOST_CATCH(declaration) catch (declaration)
#else
#define READMOST_THROW(exception) __builtin_trap()
#define READMOST_RETHROW() __builtin_trap()
#define READMOST_TRY if constexpr (true)
#define READMOST_CATCH(declaration) else
#endif
