// Makes the contenders, each defined in a file that includes nobody else's headers: liburcu's
// flavors share names.
#pragma once

#include "sides.hpp"

namespace bench {

std::unique_ptr<rcu_flavor> make_readmost_rcu();
std::unique_ptr<read_side> make_readmost_rcu_domain();

// Of liburcu; liburcu.cpp is compiled for each of them.
std::unique_ptr<rcu_flavor> make_liburcu_memb();
std::unique_ptr<rcu_flavor> make_liburcu_bp();
std::unique_ptr<rcu_flavor> make_liburcu_qsbr();
std::unique_ptr<rcu_flavor> make_liburcu_mb();

std::unique_ptr<replacing_side> make_readmost_shared_mutex();
std::unique_ptr<replacing_side> make_std_shared_mutex();
std::unique_ptr<replacing_side> make_brlock_of_spinlocks();
std::unique_ptr<replacing_side> make_brlock_of_mutexes();

std::unique_ptr<read_side> make_readmost_hazard_pointer();
std::unique_ptr<read_side> make_asymmetric_hazard_pointer();

}  // namespace bench
