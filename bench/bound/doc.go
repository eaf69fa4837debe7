// Package bound computes a price below which no plan can place a batch of pods
// on new machines, independently of the engines and of their own bounds.
//
// The bound is the value of a linear relaxation: machines may be bought in
// fractions and pods cut into pieces, but a piece still needs a machine that its
// pod may run on, and that the whole pod fits. Of pods that must not share a machine
// with each other, by anti-affinity or by a host port, there is one a machine, for the
// three largest groups of them. Other topology rules and pool limits are ignored, which can
// only make it lower.
//
// Where the kinds of pods are few, the pods stay whole as well, and only machines come in
// fractions, each with a content that it can hold (whole.go); the greater of both counts.
//
// # Why it can be trusted
//
// The relaxation's dual asks for a price of each resource on each kind of
// machine, w[t], such that the machine's whole room is worth no more than the
// machine costs:
//
//	sum over resources r of room[t][r] * w[t][r]  <=  cost[t]
//
// Any such prices bound every plan from below by
//
//	sum over pods p of  min over machines t that p may use  of  request[p] . w[t]
//
// because a plan pays at least the worth of what its pods take. So it does not
// matter how the prices were found: relax.go finds good ones by cutting planes
// on pods grouped by shape, with rounding errors and all; [Calculator.Of] then
// scales them to satisfy the first formula and evaluates the second over the
// pods themselves.
//
// In whole pods the dual asks for a value of each kind of pod, such that no content of a
// machine is worth more than the machine. Branch and bound looks for the content that is
// worth most; by the share by which it is worth too much, or could be if the search was
// cut off, all values are lowered.
package bound
