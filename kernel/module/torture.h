/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) 2026 Readmost maintainers */
/* A thread that takes CPUs offline and online, for the torture modules. */
#ifndef READMOST_TORTURE_H
#define READMOST_TORTURE_H

int torture_start_hotplug(void);
void torture_stop_hotplug(void);
unsigned int torture_hotplugs(void);

#endif /* READMOST_TORTURE_H */
