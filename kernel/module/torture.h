/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) 2026 Readmost maintainers */
/* Threads that disturb a torture: one takes CPUs offline and online, one ends threads and starts others. */
#ifndef READMOST_TORTURE_H
#define READMOST_TORTURE_H

int torture_start_hotplug(void);
void torture_stop_hotplug(void);
unsigned int torture_hotplugs(void);

int torture_start_churn(unsigned int threads, int (*restart)(unsigned int thread));
void torture_stop_churn(void);
unsigned int torture_restarts(void);

#endif /* READMOST_TORTURE_H */
