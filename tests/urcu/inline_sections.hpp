// SPDX-License-Identifier: Apache-2.0
// Functions that need <readmost/urcu.h> in C++20, or a callback, for flavor_test.cpp, which uses
// the flavor by its own names and does not include that header.
#pragma once

struct rcu_head;

// rcu_read_lock() and rcu_read_unlock() as they are in C++20.
void inline_lock();
void inline_unlock();

// Returns a callback that calls `count_call`; its address is odd on machines that allow it.
using callback = void (*)(rcu_head*);
callback unaligned_callback();
extern "C" void count_call(rcu_head* head);
