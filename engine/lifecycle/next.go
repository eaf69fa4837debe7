package lifecycle

import (
	"time"
)

// Next is what happens next about a closed gate.
type Next struct {
	// Actor is who has to open the gate.
	Actor Actor
	// Then is what is done if that has not happened at the time At; NoAction if
	// nothing is.
	Then Action
	At   time.Time
}

// Actor is a component or a person that opens gates.
type Actor string

// The actors, as they are called in a sentence.
const (
	Millwright      Actor = "Millwright"
	Cloud           Actor = "the cloud"
	Kubelet         Actor = "the kubelet"
	CloudController Actor = "the cloud controller manager"
	TaintOwner      Actor = "the owner of the taint"
	DevicePlugin    Actor = "the resource's device plugin"
	DRADriver       Actor = "the DRA driver"
	CSIDriver       Actor = "the node plugin of the CSI driver"
	ConditionOwner  Actor = "the reporter of the condition"
	DaemonSet       Actor = "the DaemonSet's pod"
)

// Action is what is done about a gate that stays closed.
type Action string

// The actions.
const (
	NoAction    Action = ""
	Alert       Action = "Alert"
	Retain      Action = "Retain"
	GiveUp      Action = "GiveUp"
	RemoveTaint Action = "RemoveTaint"
	// Ignore counts an undeclared taint as one that stays.
	Ignore Action = "Ignore"
)

// String says what happens at the deadline; empty if there is none.
func (n Next) String() string {
	at := n.At.UTC().Format(time.RFC3339)
	switch n.Then {
	case Alert:
		return "overdue from " + at + " on"
	case Retain:
		return "kept without pods from " + at + " on"
	case GiveUp:
		return "given up at " + at
	case RemoveTaint:
		return "the taint is removed at " + at
	case Ignore:
		return "not waited for after " + at
	}
	return ""
}
