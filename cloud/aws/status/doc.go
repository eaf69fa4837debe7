// Package status asks EC2's own API what it has announced about machines: scheduled
// events and failed status checks of everything in the account and region.
//
// It needs no queue, and is slower than one: a spot interruption never shows in it.
// It also confirms what a message says, as far as EC2 knows: scheduled events by the
// events it lists, a stopped or terminated machine by its state, a spot interruption
// by its request's status. Rebalance recommendations and interruptions of capacity
// reservations are in no API, and never confirmed.
//
// Rights: ec2:DescribeInstanceStatus, ec2:DescribeInstances,
// ec2:DescribeSpotInstanceRequests.
package status
