// Of <readmost/urcu.h> in C++20, and of callbacks: what a file that knows the common names by their
// own has to ask for elsewhere.
#pragma once

struct rcu_head;

// rcu_read_lock() and rcu_read_unlock() as they are in C++20.
void inline_lock();
void inline_unlock();

// A callback at an odd address, where the machine has such; it calls `count_call`.
using callback = void (*)(rcu_head*);
callback unaligned_callback();
extern "C" void count_call(rcu_head* head);
