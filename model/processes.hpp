// SPDX-License-Identifier: Apache-2.0
// Runs independent tasks in several processes, since a search keeps its simulated machine in global
// variables.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace readmost::model {

// Calls task(i) for each i below `tasks` in `processes` children, and done(i, its result) in this
// process, in the order of the tasks. With one process there are no children. Throws
// std::runtime_error with the message of a task that throws, or with name(i) if a child dies.
void in_processes(unsigned processes, std::size_t tasks,
                  const std::function<std::string(std::size_t)>& name,
                  const std::function<std::string(std::size_t)>& task,
                  const std::function<void(std::size_t, std::string)>& done);

// The same with a child for each task, `at_a_time` of them at a time: no task finds what another
// has left in memory.
void in_own_processes(unsigned at_a_time, std::size_t tasks,
                      const std::function<std::string(std::size_t)>& name,
                      const std::function<std::string(std::size_t)>& task,
                      const std::function<void(std::size_t, std::string)>& done);

// The number of CPUs that this process may use.
unsigned usual_processes();

}  // namespace readmost::model
