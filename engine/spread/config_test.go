package spread

import (
	"strings"
	"testing"
)

func TestADocumentIsReadInYAMLAndJSON(t *testing.T) {
	for _, text := range []string{
		"podTopologySpread:\n  defaultConstraints:\n  - maxSkew: 2\n    topologyKey: topology.kubernetes.io/zone\n    whenUnsatisfiable: DoNotSchedule\n    minDomains: 3\n    nodeTaintsPolicy: Honor\n",
		`{"podTopologySpread":{"defaultConstraints":[{"maxSkew":2,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"DoNotSchedule","minDomains":3,"nodeTaintsPolicy":"Honor"}]}}`,
	} {
		if d, err := Parse(text); err != nil || len(d) != 1 || d[0].MaxSkew != 2 || *d[0].MinDomains != 3 {
			t.Errorf("%v, read %+v", err, d)
		}
	}
	for _, text := range []string{"", "{}", "podTopologySpread: {}", "podTopologySpread: {defaultConstraints: []}"} {
		if d, err := Parse(text); err != nil || len(d) > 0 {
			t.Errorf("%q: %v, read %+v", text, err, d)
		}
	}
}

func TestWhatKubeSchedulerRefusesIsRefusedByItsField(t *testing.T) {
	for given, want := range map[string]string{
		"[":                    "reading the document",
		"nodeResourcesFit: {}": `unknown field "nodeResourcesFit"`,
		"podTopologySpread: {defaultingType: List}":                                                                                          `unknown field "defaultingType"`,
		"maxSkew: 0, topologyKey: zone, whenUnsatisfiable: DoNotSchedule":                                                                    "podTopologySpread.defaultConstraints[0].maxSkew: Invalid value: 0",
		"maxSkew: 1, whenUnsatisfiable: DoNotSchedule":                                                                                       `podTopologySpread.defaultConstraints[0].topologyKey: Invalid value: ""`,
		"maxSkew: 1, topologyKey: a/b/c, whenUnsatisfiable: DoNotSchedule":                                                                   `podTopologySpread.defaultConstraints[0].topologyKey: Invalid value: "a/b/c"`,
		"maxSkew: 1, topologyKey: zone":                                                                                                      `podTopologySpread.defaultConstraints[0].whenUnsatisfiable: Unsupported value: ""`,
		"maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}":                                                "podTopologySpread.defaultConstraints[0].labelSelector: Forbidden",
		"maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, matchLabelKeys: [a]":                                              "podTopologySpread.defaultConstraints[0].matchLabelKeys: Forbidden",
		"maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule": `podTopologySpread.defaultConstraints[1]: Duplicate value: "{zone, DoNotSchedule}"`,
	} {
		if strings.HasPrefix(given, "maxSkew") {
			given = "podTopologySpread: {defaultConstraints: [{" + given + "}]}"
		}
		if d, err := Parse(given); err == nil || !strings.Contains(err.Error(), want) || d != nil {
			t.Errorf("%s\nsays %v, want %s", given, err, want)
		}
	}
}
