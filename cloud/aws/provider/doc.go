// Package provider rents machines from EC2: a cloud.Provider whose node classes are
// EC2NodeClasses.
//
//	catalogue   what types, zones and prices there are: asked for now and then, answered from memory
//	class       an EC2NodeClass as a launch needs it
//	launch      choices ──► launch templates ──► CreateFleet ──► a machine, one for one token
//	instances   what EC2 knows of machines ──► cloud.Instance
//	drift       a machine as it was last described, beside its class (package drift)
//	memory      what Nodes turned out to have ──► the catalogue
//	templates   launch templates: made when needed, deleted when they are not any more
//
// # What is remembered, and what for
//
// Nothing that is needed after a crash, but for the memory that Nodes turned out to have: that
// is an annotation of their class (package observed). Types, zones and prices are read anew; launches are
// found by their token and their tag (package fleet); a template that is not remembered is
// found by its tags. What EC2 could not deliver is kept for some minutes, longer each time, so
// that plans do not count on it.
//
// # Tags
//
// Machines carry Karpenter's tags, by which IAM policies allow calls and its controller knows
// them, and two more: [TokenTag], the UID of the NodeClaim, and [HashTag], from which spec they
// were launched. The tag karpenter.sh/nodeclaim is there from the start, so nothing is tagged
// afterwards.
package provider
