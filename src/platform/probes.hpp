// SPDX-License-Identifier: Apache-2.0
// USDT probes for bpftrace, perf and SystemTap; docs/statistics.md lists them. A probe without a
// listener is one `nop`. Without <sys/sdt.h> at build time there are none.
#pragma once

#if __has_include(<sys/sdt.h>)
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
#define READMOST_PROBE(name, ...) STAP_PROBEV(readmost, name __VA_OPT__(, ) __VA_ARGS__)
#else
namespace readmost::detail {
constexpr void ignore_probe(const auto&...) noexcept {}
}  // namespace readmost::detail
#define READMOST_PROBE(name, ...) readmost::detail::ignore_probe(__VA_ARGS__)
#endif
