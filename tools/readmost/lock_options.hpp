#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace readmost::command {

// The name for running without the library at all.
inline constexpr std::string_view without_library = "glibc";

// The locks that the library can put under a program besides its own and glibc's, a line for each.
extern const char* const list_of_other_locks;

// Whether READMOST_LOCK may say this: empty, or what is wrong.
std::string check_lock(const std::string& name);

// Whether `compare` knows it: those, `glibc` and `all`.
std::string check_compared_lock(const std::string& name);

// The same with `all` replaced by what it stands for.
std::vector<std::string> all_spelled_out(const std::vector<std::string>& locks);

}  // namespace readmost::command
