#include "misuse.hpp"

namespace readmost {

bool checks_misuse() noexcept {
  return false;
}

void report_misuse(misuse) noexcept {}

std::uint64_t section_limit() noexcept {
  return 0;
}
void report_long_section(const thread_record&) noexcept {}

void note_entry(thread_record&) noexcept {}
void note_exit(thread_record&) noexcept {}

}  // namespace readmost
