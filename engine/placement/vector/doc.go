// Package vector turns amounts of resources into vectors of whole numbers, one for
// each resource that some pod asks for, and back into Kubernetes' words.
package vector
