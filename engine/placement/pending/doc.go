// Package pending tells which pods placement has to find a place for: pods that
// wait for a machine, and pods whose machine is going away.
package pending
