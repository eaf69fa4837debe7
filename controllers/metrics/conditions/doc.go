// Package conditions exports the conditions of NodeClaims, NodePools, Nodes and node
// classes, and how long objects take to go, as operator_<kind>_… series. Their names, labels and
// buckets are those that Karpenter has from github.com/awslabs/operatorpkg/status, so
// that its dashboards and alerts go on. That library's controllers are not used: they
// belong to one registry for the life of a process and write an event for every
// transition. Its twins without a kind in their name, which it deprecates, are left
// out.
package conditions
