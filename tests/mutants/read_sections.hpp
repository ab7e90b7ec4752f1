// SPDX-License-Identifier: Apache-2.0
// Included in include/readmost/detail/rcu/read_section.hpp, in its namespace.

// section_after_mode
inline void publish_section_after_look(thread_record& me, unsigned domain) noexcept {
  const bool online = is_online(me);
  const std::uint64_t section = me.section.load(platform::relaxed);
  if (section >= section_nesting) {
    enter_section_slow(domain);
    return;
  }
  me.section.store(section + 1, platform::relaxed);
  platform::light_fence(letter::G1);
  if (!online) confirm_section(me);
}
