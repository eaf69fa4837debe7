// Package ec2 is what is known of EC2 without asking it: instance types, the limits of
// their networks and volumes, on-demand prices of one region. [Types] lists some 1,100 of
// families c, m, r, t, x, z, i, d, g, p, inf and trn, amd64 and arm64, without bare metal.
// They are facts; what they mean for a Node, providers work out.
//
// The table, zz_generated.types.csv, is written by internal/ec2gen from tables that Go
// modules publish; NOTICE names them. No module has EBS bandwidth, clock speeds or network
// performance classes for all types: those are not here.
package ec2
