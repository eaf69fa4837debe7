// Package nodeclass works out the status of EC2NodeClasses: which subnets, security groups,
// images, capacity reservations and placement group the selectors mean, and which instance
// profile machines get.
//
//	EC2NodeClass.spec ──► steps, each with a condition of its own ──► EC2NodeClass.status
//
// Conditions and reasons are Karpenter's. What is wrong with the class, or with the rights of
// the process, is said in the condition of the step that met it, and what the step knew before
// stays in the status. An answer that did not come (a throttled call, a fault of AWS) says
// nothing about the class: its condition stays as it was, and the step is taken again soon.
//
// Instance profiles for spec.role are called after the class's UID and the role, so that a
// step that was cut off finds what it made; all of a class are below one path and are deleted
// with it.
package nodeclass
