package snapshot

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Failure counts the machines of a pool that failed in a row and had something in
// common.
type Failure struct {
	// Template is what they had in common, alone or with one of Offering, Image and Resource. A
	// template is named by its hash, an offering as type/zone/capacityType, an image as
	// the claim's status does.
	Template string `json:"template,omitempty"`
	Offering string `json:"offering,omitempty"`
	Image    string `json:"image,omitempty"`
	// Resource is, with a Template, one that pods of the machines request and that their Nodes
	// did not have in time.
	Resource corev1.ResourceName `json:"resource,omitempty"`
	// Workload is that the machines were launched for it and it did not use them, as
	// Kind/namespace/name. Such a failure is counted once a round of launches.
	Workload string `json:"workload,omitempty"`
	// OnlyImage is, for a Template alone, the image that all of them were started
	// from; empty if there were several, or one is not known.
	OnlyImage string `json:"onlyImage,omitempty"`
	// Count is how many failed, Last when the last of them was given up.
	Count int       `json:"count"`
	Last  time.Time `json:"last"`
	// Reason is why, and Claim the name of the last one's claim.
	Reason string `json:"reason"`
	Claim  string `json:"claim"`
	// Machines are, for a Workload, the latest machines, each with what became of it; for a
	// Resource, each with its instance type.
	Machines []string `json:"machines,omitempty"`
	// Types are, for a Resource, the latest instance types whose Nodes did not have it, and have not
	// had it since.
	Types []string `json:"instanceTypes,omitempty"`
	// Counted are the latest claims that have been counted.
	Counted []types.UID `json:"counted,omitempty"`
}
