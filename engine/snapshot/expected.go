package snapshot

import (
	"slices"
	"strconv"
)

// Expected are pods that a controller is about to create: a Job or ReplicaSet wants more
// than there are, and makes them one after the other.
type Expected struct {
	// Like is a pending pod of the same controller. The others will be of its class.
	Like *Pod
	// Count is how many are missing, at least one.
	Count int
}

// MostExpected bounds the copies of one snapshot: more would come later than the machines
// that could be launched for them now.
const MostExpected = 10_000

// shares divide [MostExpected] among those who want so many each: none gets less because another
// wants more than an equal part.
func shares[T any](among []T, wants func(T) int) []int {
	order := make([]int, len(among))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return wants(among[a]) - wants(among[b]) })
	out, left := make([]int, len(among)), MostExpected
	for n, i := range order {
		out[i] = min(wants(among[i]), left/(len(order)-n))
		left -= out[i]
	}
	return out
}

// Copies are the expected pods, made after their siblings, up to [MostExpected] of them.
// kube-scheduler has said nothing of them. Their names come after those of all pods of their
// namespace.
func Copies(expected []Expected) []*Pod {
	var out []*Pod
	for n, share := range shares(expected, func(e Expected) int { return e.Count }) {
		e := &expected[n]
		for i := range share {
			pod := *e.Like.Pod
			pod.Name, pod.UID = CopyName(e.Like, i), ""
			pod.Status.NominatedNodeName, pod.Status.Conditions = "", nil
			out = append(out, &Pod{Pod: &pod, Class: e.Like.Class})
		}
	}
	return out
}

// CopyName is the name of a copy, from zero.
func CopyName(like *Pod, i int) string { return "~" + like.Name + "-" + strconv.Itoa(i+1) }
