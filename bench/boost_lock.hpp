// boost::upgrade_mutex, which is boost::shared_mutex in Boost 1.74.
#pragma once

// Without points of interruption, which would only cost: nobody interrupts these threads.
#define BOOST_THREAD_DONT_PROVIDE_INTERRUPTIONS
#include <boost/thread/shared_mutex.hpp>
