package memory

// MostRanks is the maximum number of ranks that a server, a router, a sample or a job file may claim. Such numbers size
// lists and loops. The largest deployments of one model have some hundred GPUs, and the largest clusters some ten
// thousand.
const MostRanks = 1 << 14
