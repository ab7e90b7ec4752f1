#include "scenarios/library_names.hpp"

#include "engine/report.hpp"

namespace readmost::model {

void name_library_variables() {
  describe_with(nullptr, nullptr);
}

}  // namespace readmost::model
