// Package restart stops a machine and starts the same one again, before the cloud does:
// Node, NodeClaim and volumes stay.
//
//	Record (annotation of the claim), Node, state of the instance ──► Next ──► Step
//
//	begun   the Node is cordoned; hooks before a drain are waited for, then pods leave
//	stop    the instance is told to stop, until it has
//	start   it is told to start, until its Node is Ready again after another boot
//	done    what it was restarted for counts as answered
//	failed  it did not stop, or was not back, in time; its claim goes
//
// Each step is on the record before it is done, and is safe to repeat: a controller that
// ends anywhere goes on where it was. Until the instance is told to stop, a restart can be
// given up; from then on it is carried to its end, whatever becomes of the event.
//
// Invariants: an instance is told to stop only if the record says so; one that the record
// says is stopped is told to start, or its claim goes; a record moves forward only.
package restart
