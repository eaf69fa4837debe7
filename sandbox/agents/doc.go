// Package agents plays those who work on nodes besides their kubelets, as far as
// it shows in taints:
//
//   - the cloud controller manager, which takes the taint
//     node.cloudprovider.kubernetes.io/uninitialized off a Node that joined with it,
//     sooner, later, or never although its work is done;
//   - one agent per node, such as that of a network, which owns a taint: nodes join
//     with it, or an operator adds it, and the agent removes it when it works;
//   - a third party that puts the agent's taint back once.
//
// What they do and when is set with knobs; without any, only the cloud controller
// acts. Every write is bound to the Node that was read.
package agents
