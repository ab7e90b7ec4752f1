// The mini-benchmark's table under liburcu's flavor memb, whose read sections are inline here.
#include "contenders/rcu/mixed_table_of.hpp"
// clang-format off: last, since some of its names are macros.
#include "contenders/rcu/liburcu_flavor.hpp"
// clang-format on

namespace bench {

namespace {

struct liburcu : urcu {
  using element = bench::element<element_base>;
  static void quiescent() {}
};

}  // namespace

std::unique_ptr<mixed_table> make_liburcu_mixed_table(std::size_t buckets) {
  return std::make_unique<mixed_table_of<rcu_table<liburcu>>>(buckets);
}

}  // namespace bench
