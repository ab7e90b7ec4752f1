// Has a function of this library jump elsewhere: for locks to be measured as what they are, without
// first finding out on the paths of Readmost's own that this is none of them.
#pragma once

namespace readmost::detail::interpose {

// From now on a call of `from` is one of `to`, at the price of a jump. Both: functions of this
// library, with the same arguments. For a process that has no second thread yet. False, and nothing
// is changed, where it has, where code may not be written to, and on machines other than x86-64 and
// aarch64.
bool redirect(void* from, const void* to) noexcept;

}  // namespace readmost::detail::interpose
