package snapshot

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Failure counts the machines of a pool that failed in a row and had something in
// common.
type Failure struct {
	// Template or Offering is what they had in common; the other one is empty. A
	// template is named by its hash, an offering as type/zone/capacityType.
	Template string `json:"template,omitempty"`
	Offering string `json:"offering,omitempty"`
	// Count is how many failed, Last when the last of them was given up.
	Count int       `json:"count"`
	Last  time.Time `json:"last"`
	// Reason is why, and Claim the name of the last one's claim.
	Reason string `json:"reason"`
	Claim  string `json:"claim"`
	// Counted are the latest claims that have been counted.
	Counted []types.UID `json:"counted,omitempty"`
}
