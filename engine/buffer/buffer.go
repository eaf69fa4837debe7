// Package buffer reads CapacityBuffers: how many chunks one wants, and what its conditions say of
// the room that there is for them.
//
//	Size ──► Count          snapshot.Buffer, plan.Plan ──► Conditions
package buffer

import (
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Size is how large a buffer is to be: so many chunks or per cent of the replicas of a workload,
// whichever are more, and no more than what fits into limits. Of limits alone it is what fits.
type Size struct {
	Replicas, Percentage *int32
	// Of is the number of the workload's replicas.
	Of     int32
	Limits corev1.ResourceList
}

// Count is the number of chunks that each take requests. Limits of resources that a chunk does
// not ask for say nothing.
func (s Size) Count(requests snapshot.Amounts) int {
	count, sized := 0.0, s.Replicas != nil
	if sized {
		count = float64(*s.Replicas)
	}
	if s.Percentage != nil && s.Of > 0 {
		count, sized = max(count, math.Ceil(float64(s.Of)*float64(*s.Percentage)/100)), true
	}
	for name, limit := range s.Limits {
		if request := requests.Get(name); !request.IsZero() {
			fits := math.Floor(limit.AsApproximateFloat64()/request.AsApproximateFloat64() + 1e-9)
			if !sized {
				count, sized = fits, true
			}
			count = min(count, fits)
		}
	}
	return int(max(0, min(count, math.MaxInt32)))
}

// Condition types, and reasons as Karpenter has them.
const (
	ReadyForProvisioning = "ReadyForProvisioning"
	Provisioning         = "Provisioning"

	Resolved             = "Resolved"
	ResolutionFailed     = "ResolutionFailed"
	PodTemplateNotFound  = "PodTemplateNotFound"
	ScalableRefNotFound  = "ScalableRefNotFound"
	fitsExistingCapacity = "FitsExistingCapacity"
	requiresNewCapacity  = "RequiresNewCapacity"
	notReady             = "NotReadyForProvisioning"
	empty                = "BufferEmpty"
)

// Condition is one of a CapacityBuffer.
type Condition struct {
	Type            string
	True            bool
	Reason, Message string
}

// Conditions are those of a buffer, and of its state in a plan.
func Conditions(b *snapshot.Buffer, state plan.BufferState) []Condition {
	if b.Chunk == nil {
		return []Condition{
			{ReadyForProvisioning, false, b.Reason, b.Fault},
			{Provisioning, false, notReady, b.Fault},
		}
	}
	ready := Condition{ReadyForProvisioning, true, Resolved, "the shape of a chunk is known"}
	switch {
	case b.Count == 0:
		return []Condition{ready, {Provisioning, false, empty, "no chunk is wanted"}}
	case state.Existing >= b.Count:
		return []Condition{ready, {Provisioning, true, fitsExistingCapacity, fmt.Sprintf("there is room for all of its chunks (%d)", b.Count)}}
	}
	return []Condition{ready, {Provisioning, false, requiresNewCapacity, missing(b, state)}}
}

// missing tells what chunks lack room.
func missing(b *snapshot.Buffer, state plan.BufferState) string {
	parts := []string{fmt.Sprintf("there is room for %d of %s", state.Existing, plan.Count(b.Count, "chunk"))}
	if state.New > 0 {
		parts = append(parts, fmt.Sprintf("new machines are launched for %d", state.New))
	}
	if state.Unplaced > 0 {
		text := fmt.Sprintf("%d cannot be placed", state.Unplaced)
		if words := plan.Messages(state.Reasons, shownReasons); len(words) > 0 {
			text += ": " + strings.Join(words, "; ")
		}
		parts = append(parts, text)
	}
	if beyond := b.Count - state.Existing - state.New - state.Unplaced; beyond > 0 {
		parts = append(parts, fmt.Sprintf("%d are not planned for, as %d chunks are the most in a cluster", beyond, snapshot.MostExpected))
	}
	return strings.Join(parts, "; ")
}

// shownReasons is how many reasons a message has room for.
const shownReasons = 3
