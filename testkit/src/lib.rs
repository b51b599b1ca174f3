//! Workload programs with known truth, for testing a meter against.
