// To be included before other headers of liburcu. Its thread-local variables are C's, which no
// thread has to construct: as C++'s thread_local, which its headers make them, each access from
// outside would look for a constructor.
#pragma once

#include <urcu/tls-compat.h>

#undef URCU_TLS_STORAGE_CLASS
#define URCU_TLS_STORAGE_CLASS __thread
