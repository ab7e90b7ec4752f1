/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) 2026 Readmost maintainers */
/*
 * What an out-of-tree module cannot have in Kconfig. Each of these is a make
 * variable: make READMOST_CHECKS=1.
 *
 * READMOST_CHECKS	misuse is reported in the log: a lock taken for reading
 *			in an interrupt, destroyed while held, or not initialised.
 *			Default: off.
 * READMOST_FAULTS	the module parameter "fault" breaks one mechanism, so that
 *			the torture tests can show that they would notice. Never
 *			load such a module elsewhere. Default: off.
 */
#ifndef READMOST_CONFIG_H
#define READMOST_CONFIG_H

#ifdef READMOST_CHECKS
#define READMOST_WARN_ON(condition)	WARN_ON_ONCE(condition)
#else
#define READMOST_WARN_ON(condition)	BUILD_BUG_ON_INVALID(condition)
#endif

/* Passive holds of one CPU at a time; further ones are active. */
#define PRW_SLOTS			4

#endif /* READMOST_CONFIG_H */
