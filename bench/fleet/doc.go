// Package fleet has the catalogues that the engines choose from: [EC2], the
// current general, compute and memory families of one region at on-demand
// prices, and [Small], a made-up one for tests. [UpTo] leaves out the giants,
// as most clusters do.
package fleet
