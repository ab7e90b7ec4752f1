// SPDX-License-Identifier: Apache-2.0
#include "inline_sections.hpp"

#include <readmost/urcu.h>

#include <string_view>

#define NAME_OF(macro) NAME_OF_EXPANDED(macro)
#define NAME_OF_EXPANDED(name) #name
static_assert(std::string_view(NAME_OF(rcu_read_lock)) == "urcu_readmost_inline_read_lock");
static_assert(std::string_view(NAME_OF(rcu_read_unlock)) == "urcu_readmost_inline_read_unlock");

void inline_lock() {
  rcu_read_lock();
}

void inline_unlock() {
  rcu_read_unlock();
}

#if defined(__x86_64__)

// Puts the callback at an odd address, as a compiler may do when it optimises for size.
asm(".pushsection .text\n"
    ".balign 16\n"
    "nop\n"
    "callback_at_odd_address: jmp count_call\n"
    ".popsection\n");
extern "C" __attribute__((visibility("hidden"))) void callback_at_odd_address(rcu_head* head);

callback unaligned_callback() {
  return callback_at_odd_address;
}

#else

callback unaligned_callback() {
  return count_call;
}

#endif
