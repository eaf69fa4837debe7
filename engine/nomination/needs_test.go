package nomination_test

import (
	"testing"

	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Of contending classes the one with the most pods is left to kube-scheduler, if any place
// will do for it, or several that fit in any order.
func TestOneOfContendingClassesNeedsNoNominations(t *testing.T) {
	small := "pod small count=2 cpu=1 memory=128Mi labels=app:small"
	nominated := []string{"nominate small-1 n1", "nominate small-2 n1", "nominate big n1"}
	for name, row := range map[string]struct {
		lines []string
		with  func(*snapshot.Snapshot)
		want  string
	}{
		"the one with the most pods":      {lines: []string{small}, want: `big -> "n1" Planned; `},
		"all whose pods fit in any order": {lines: []string{"pod small count=2 cpu=100m memory=1Gi labels=app:small"}},
		"not counting those that are nominated": {
			lines: []string{small},
			with:  func(s *snapshot.Snapshot) { nominate(s, "small-1", "n1", true); nominate(s, "small-2", "n1", true) },
		},
		"and those that differ from it by labels alone": {
			lines: []string{small, "pod also count=2 cpu=1 memory=128Mi labels=app:also", "nominate also-1 n1", "nominate also-2 n1"},
			want:  `big -> "n1" Planned; `,
		},
		"but not those that may use other nodes": {
			lines: []string{small, "pod also cpu=1 memory=128Mi select=kubernetes.io/os:linux", "nominate also n1"},
			want:  `big -> "n1" Planned; also -> "n1" Planned; `,
		},
		"nor those that tolerate more": {
			lines: []string{small, "pod also cpu=1 memory=128Mi tolerate=red", "nominate also n1"},
			want:  `big -> "n1" Planned; also -> "n1" Planned; `,
		},
		"nor those that take a host port": {
			lines: []string{small, "pod also cpu=1 memory=128Mi ports=80", "nominate also n1"},
			want:  `big -> "n1" Planned; also -> "n1" Planned; `,
		},
		"unless it has the higher priority": {
			lines: []string{small + " priority=10"},
			want:  `small-1 -> "n1" Planned; small-2 -> "n1" Planned; `,
		},
		"unless its pods are kept apart": {
			lines: []string{small + " apart=host:app:small"},
			want:  `small-1 -> "n1" Planned; small-2 -> "n1" Planned; `,
		},
		"unless its pods mount a volume": {
			lines: []string{small + " claims=data"},
			want:  `small-1 -> "n1" Planned; small-2 -> "n1" Planned; `,
		},
		"unless its pods claim a device": {
			lines: []string{small},
			with: func(s *snapshot.Snapshot) {
				for _, p := range s.Pending {
					if p.Labels["app"] == "small" {
						p.Class.Devices = []snapshot.DeviceClaim{{}}
					}
				}
			},
			want: `small-1 -> "n1" Planned; small-2 -> "n1" Planned; `,
		},
		"unless others are about it": {
			lines: []string{small, "pod picky cpu=1 memory=1Gi near=host:app:small", "nominate picky n1"},
			want:  `picky -> "n1" Planned; small-1 -> "n1" Planned; small-2 -> "n1" Planned; `,
		},
		"and none where others go in turn": {
			lines: []string{small, "pod even cpu=500m memory=1Gi labels=app:even spread=zone:1:app:even", "nominate even n1"},
			want:  `big -> "n1" Planned; small-1 -> "n1" Planned; small-2 -> "n1" Planned; even -> "n1" Planned; `,
		},
		"one in each set that has no pool in common with another": {
			lines: []string{
				"pool red taints=red:NoSchedule", "node n4 type=m pool=red stage=registered",
				small + " tolerate=red select=karpenter.sh/nodepool:red", "nominate small-1 n4", "nominate small-2 n4",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			lines := append([]string{}, row.lines[0])
			if name != "one in each set that has no pool in common with another" {
				lines = append(append(lines, nominated...), row.lines[1:]...)
			} else {
				lines = append(append(lines, row.lines[1:]...), "nominate big n1")
			}
			s := cluster(t, lines...)
			if row.with != nil {
				row.with(s)
			}
			if got := decided(s); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}
