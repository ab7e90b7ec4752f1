// SPDX-License-Identifier: Apache-2.0
// Included in src/threads/registry.cpp, in its unnamed namespace.

// online_before_index
bool come_online_and_enter_index(thread_record& me) noexcept {
  std::uint32_t mode = me.mode.load(platform::relaxed);
  for (;;) {
    const participation now = participation_of(mode);
    if (now == participation::online) return true;
    if (now == participation::unlisting || !membarrier_works()) return false;
    const std::uint32_t online = ((mode & ~participation_mask) + participation_period) |
                                 static_cast<std::uint32_t>(participation::online);
    if (me.mode.compare_exchange_weak(mode, online, platform::relaxed, platform::relaxed)) break;
  }
  platform::full_fence_after_rmw(letter::F);
  enter_index(me);
  me.idle_rounds.store(0, platform::relaxed);
  report(me);
  return true;
}
