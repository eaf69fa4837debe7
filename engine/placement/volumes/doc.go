// Package volumes is the rule of persistent volumes: where a pod can run so that
// its volumes can be reached, and how many volumes a node can still attach.
//
//	claim is bound       the volume's node affinity and its zone labels
//	claim is not bound   the node that its provisioning has begun for; the volumes
//	                     that are there for the taking; what its storage class
//	                     can make, in the class's topologies. A class that does
//	                     not wait for the pod is waited for.
//
// Several claims hold at once. Each offers alternatives, and each combination
// that is not a contradiction is an alternative of the pod.
//
// A [Book] is made for one batch of pods. It knows what the pods do to each other:
// a volume that is there for the taking is given to one claim only, a claim for
// one pod (ReadWriteOncePod) to one pod only, what several pods share is attached
// to a node once, and pods that wait for one claim's volume stay in one zone.
//
// Not looked at: how much space a driver has left (CSIStorageCapacity).
package volumes
