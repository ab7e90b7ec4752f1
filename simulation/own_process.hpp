// A process for each run: the library's variables are left as a run leaves them.
#pragma once

#include <functional>
#include <string>

namespace readmost::simulation {

// Returns work(), which a child calls. Throws std::runtime_error with the message of what work()
// throws, or if the child dies.
std::string in_own_process(const std::function<std::string()>& work);

}  // namespace readmost::simulation
