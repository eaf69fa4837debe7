// Package life is the life of a pod on a machine, as a pure function: from what
// the kubelet remembers, what it sees and the time, to what it remembers next,
// the status to report and the moment to look again.
//
//		accepted ─► mounted ─► [init containers] ─► started ─► ended ─► unmounted ─► removed
//
//	  - mounted waits for the volumes (Input.CanMount), started for the start-up
//	    time and the init containers;
//	  - a pod ends because it is deleted (preStop and stop time, cut off by the
//	    grace period), because it runs for a fixed time only, or because someone
//	    else gave it a final phase;
//	  - unmounted waits for the volumes again (Input.CanUnmount); a pod that is
//	    being deleted is removed from the API only then, as a real kubelet does.
//
// Containers are not run, probes are not called, images are not pulled.
// step.go is the machine, stop.go how long an end takes, status.go the report.
package life
