// Package repair carries out what engine/repair decides about machines that are
// broken.
//
//	Store ─► repair.Decide ─┬► Ask        the request for a replacement on the claim; disruption does the rest
//	                        ├► Withdraw   takes it off
//	                        ├► Terminate  deletes the claim, with a deadline that is now, after a last live look
//	                        ├► Bound      the deadline of a drain
//	                        ├► Reboot     the request for a reboot; what is requested goes on with NextReboot
//	                        ├► the condition Unhealthy of claims, and since when agents crash
//	                        └► the condition RepairBlocked of pools, and events
//
// A look does what is due and remembers nothing: what has been done is seen on the
// objects, so that a look that is cut off is made good by the next.
package repair
