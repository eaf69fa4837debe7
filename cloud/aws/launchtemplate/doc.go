// Package launchtemplate says what is in the launch templates from which machines start.
//
//	EC2NodeClass, Machine ──► New ──► Content, with a Name that follows from it
//
// Equal machines share a template: its name is a hash of its content, so a template that
// exists under the name is the right one, and templates are never changed. What differs
// between machines of one pool and is not needed to join stays out of the content; labels
// that describe the instance type are put on the Node when it registers. The names begin as
// Karpenter's do, karpenter.k8s.aws/, and the tags are Karpenter's, so that its policies
// allow the calls and its controller can sweep up after ours.
package launchtemplate
