package cluster

// LeaseName is the lease that a process holds while it acts on NodePools. It is
// Karpenter's, so that of a Karpenter and a Millwright in one namespace only one acts.
const LeaseName = "karpenter-leader-election"
