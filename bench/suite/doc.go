// Package suite runs workloads on engines and judges what comes back: every
// plan of every iteration is checked, priced and counted, and each row holds
// the medians.
package suite
