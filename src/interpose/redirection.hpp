// Makes a function of this library jump to another, so that measurements of other locks do not
// include the paths of Readmost's own.
#pragma once

namespace readmost::detail::interpose {

// From now on a call of `from` calls `to`; cost: a jump. Precondition: both are functions of this
// library with the same arguments. False, and nothing is changed, if the process has had a second
// thread, if code cannot be written to, and on machines other than x86-64 and aarch64.
bool redirect(void* from, const void* to) noexcept;

}  // namespace readmost::detail::interpose
