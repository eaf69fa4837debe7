// Package measure takes the cost of one call: wall time, CPU time of the whole
// process (all threads, the garbage collector's too), allocations, and the
// peak of the heap above where it started.
//
// CPU seconds are the number to compare on a busy machine. Measure one call at
// a time: the figures are the process's.
package measure
