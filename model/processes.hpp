// Tasks that need nothing of one another, in several processes: a search keeps its simulated
// machine in global variables.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace readmost::model {

// Calls task(i) for each i below `tasks`, in `processes` children, and done(i, what it returned)
// here, in the order of the tasks. With one process all is done here. Throws std::runtime_error
// when a child ends before its task does, naming it by name(i), or with what a task throws.
void in_processes(unsigned processes, std::size_t tasks,
                  const std::function<std::string(std::size_t)>& name,
                  const std::function<std::string(std::size_t)>& task,
                  const std::function<void(std::size_t, std::string)>& done);

// As many as there are CPUs for this process.
unsigned usual_processes();

}  // namespace readmost::model
