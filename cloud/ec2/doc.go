// Package ec2 is what is known of EC2 without asking it: instance types, the limits of
// their networks and volumes, on-demand prices. [Types] lists some 1,300, amd64 and arm64, with
// earlier generations and bare metal; [OnDemand] has the prices of the regions whose lists are
// published. They are facts; what they mean for a Node, providers work out.
//
// The tables, zz_generated.*.csv, are written by internal/ec2gen from tables that Go modules
// publish; NOTICE names them. What none has for a type is zero. Left out are fractions of GPUs,
// which Kubernetes cannot express, and types whose networks or prices no table has.
package ec2
