/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (c) 2026 Readmost maintainers */
/* The list of domains, for debugfs. */
#ifndef READMOST_PRW_DOMAINS_H
#define READMOST_PRW_DOMAINS_H

#include <linux/list.h>
#include <linux/mutex.h>

extern struct mutex prw_domains_lock;
extern struct list_head prw_domains;

#endif /* READMOST_PRW_DOMAINS_H */
