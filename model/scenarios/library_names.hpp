// What the library's own variables and their values are called in a printed interleaving.
#pragma once

namespace readmost::model {

void name_library_variables();

}  // namespace readmost::model
