//! The harness of the benchmarks: threads that do one thing at the same time, and the time it takes.
