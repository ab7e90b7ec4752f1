/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) 2026 Readmost maintainers */
/*
 * Refuses to build for a kernel on which the module would be wrong. The harness
 * compiles this header alone with other settings to see that it does.
 */
#ifndef READMOST_SUPPORTED_H
#define READMOST_SUPPORTED_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "readmost: needs Linux 6.1 or newer: the sched_switch tracepoint of older kernels has other arguments"
#endif
#ifndef CONFIG_X86_64
#error "readmost: only x86-64 is supported: the module has not been tested on another architecture"
#endif
#ifndef CONFIG_SMP
#error "readmost: the kernel has no CONFIG_SMP: with one CPU use rwsem"
#endif
#ifndef CONFIG_TRACEPOINTS
#error "readmost: the kernel has no CONFIG_TRACEPOINTS: passive holds could not be counted at a switch"
#endif
#ifdef CONFIG_PREEMPT_RT
#error "readmost: PREEMPT_RT is not supported: wake-ups would sleep with preemption disabled"
#endif

#endif /* READMOST_SUPPORTED_H */
