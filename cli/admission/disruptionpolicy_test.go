package admission

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// Whatever is wrong with NodePolicy.spec.disruption is refused with words that name the
// field.
func TestADisruptionPolicyThatMeansNothingIsRefused(t *testing.T) {
	for disruption, want := range map[string]string{
		// Everything that is good.
		`{freeze: "until Monday", defaultDeny: true, budgets: [{across: Cluster, nodes: "10%"}, {across: Zone, nodes: "0", reasons: [Empty, Drifted, Underutilized]}], evictionsPerHour: 1, workloadCooldown: 5m, paybackTime: 1h30m, podMoveCost: "0.002", loopFreeze: 24h, minNodeAge: 10m, minSavingPercent: 99, spotToSpot: {minSavingPercent: 100, minTypes: 60}, ignoreJobs: true, expiryDeadline: 8760h}`: "",
		`{windows: [{schedule: "0 22 * * mon-fri", duration: 6h, timeZone: Europe/Berlin}, {schedule: "@daily", duration: 1h}]}`:                                                     "",
		`{windows: [{schedule: "*/15,7 0-23/2 1,15 JAN,jul-dec ?", duration: 1h, timeZone: America/Port-au-Prince}, {schedule: "05  04 * * 0", duration: 1h, timeZone: Etc/GMT+5}]}`: "",
		`{}`: "",

		`{freeze: true}`: "spec.disruption.freeze",
		`{freeze: "` + strings.Repeat("x", 201) + `"}`:                        "spec.disruption.freeze: Too long",
		`{defaultDeny: "yes"}`:                                                "spec.disruption.defaultDeny: Invalid value",
		`{budgets: [{nodes: "1"}]}`:                                           "spec.disruption.budgets[0].across: Required value",
		`{budgets: [{across: Region, nodes: "1"}]}`:                           `spec.disruption.budgets[0].across: Unsupported value: "Region": supported values: "Cluster", "Zone"`,
		`{budgets: [{across: Zone}]}`:                                         "spec.disruption.budgets[0].nodes: Required value",
		`{budgets: [{across: Zone, nodes: "101%"}]}`:                          "spec.disruption.budgets[0].nodes",
		`{budgets: [{across: Zone, nodes: "-1"}]}`:                            "spec.disruption.budgets[0].nodes",
		`{budgets: [{across: Zone, nodes: 1}]}`:                               "spec.disruption.budgets[0].nodes",
		`{budgets: [{across: Zone, nodes: "1", reasons: [Expired]}]}`:         `spec.disruption.budgets[0].reasons[0]: Unsupported value: "Expired"`,
		`{budgets: [{across: Zone, nodes: "1", reasons: [Empty, Empty]}]}`:    "spec.disruption.budgets[0].reasons[1]: Duplicate value",
		`{evictionsPerHour: 0}`:                                               "spec.disruption.evictionsPerHour",
		`{evictionsPerHour: 1000001}`:                                         "spec.disruption.evictionsPerHour",
		`{evictionsPerHour: "10%"}`:                                           "spec.disruption.evictionsPerHour",
		`{workloadCooldown: 5}`:                                               "spec.disruption.workloadCooldown",
		`{workloadCooldown: 5 minutes}`:                                       "spec.disruption.workloadCooldown",
		`{paybackTime: 1d}`:                                                   "spec.disruption.paybackTime",
		`{paybackTime: -1h}`:                                                  "spec.disruption.paybackTime",
		`{podMoveCost: "0.01"}`:                                               ": podMoveCost is weighed against paybackTime, which is missing",
		`{paybackTime: 1h, podMoveCost: "0,01"}`:                              "spec.disruption.podMoveCost",
		`{paybackTime: 1h, podMoveCost: 0.01}`:                                "spec.disruption.podMoveCost",
		`{paybackTime: 1h, podMoveCost: "-1"}`:                                "spec.disruption.podMoveCost",
		`{loopFreeze: 25h}`:                                                   `spec.disruption.loopFreeze: Invalid value: "25h": at most 24h`,
		`{loopFreeze: never}`:                                                 "spec.disruption.loopFreeze",
		`{minNodeAge: Never}`:                                                 "spec.disruption.minNodeAge",
		`{minSavingPercent: 0}`:                                               "spec.disruption.minSavingPercent",
		`{minSavingPercent: 100}`:                                             "spec.disruption.minSavingPercent",
		`{spotToSpot: {minSavingPercent: 101}}`:                               "spec.disruption.spotToSpot.minSavingPercent",
		`{spotToSpot: {minTypes: 0}}`:                                         "spec.disruption.spotToSpot.minTypes",
		`{spotToSpot: {minTypes: 61}}`:                                        "spec.disruption.spotToSpot.minTypes",
		`{expiryDeadline: forever}`:                                           "spec.disruption.expiryDeadline",
		`{windows: [{duration: 1h}]}`:                                         "spec.disruption.windows[0].schedule: Required value",
		`{windows: [{schedule: "@daily"}]}`:                                   "spec.disruption.windows[0].duration: Required value",
		`{windows: [{schedule: "@daily", duration: 0s}]}`:                     ": a window needs a duration",
		`{windows: [{schedule: "at night", duration: 1h}]}`:                   "spec.disruption.windows[0].schedule",
		`{windows: [{schedule: "TZ=Europe/Berlin 0 1 * * *", duration: 1h}]}`: "spec.disruption.windows[0].schedule",
		`{windows: [{schedule: "60 * * * *", duration: 1h}]}`:                 "spec.disruption.windows[0].schedule: Invalid value: \"60 * * * *\": the first field, minute, is 0 to 59",
		`{windows: [{schedule: "0 24 * * *", duration: 1h}]}`:                 "spec.disruption.windows[0].schedule: Invalid value: \"0 24 * * *\": the second field, hour, is 0 to 23",
		`{windows: [{schedule: "0 0 32 * *", duration: 1h}]}`:                 "the third field, day of the month",
		`{windows: [{schedule: "0 0 * mai *", duration: 1h}]}`:                "the fourth field, month",
		`{windows: [{schedule: "0 0 * * 1-7", duration: 1h}]}`:                "the fifth field, day of the week",
		`{windows: [{schedule: "@daily", duration: 1h, timeZone: Local}]}`:    "spec.disruption.windows[0].timeZone: Invalid value: \"Local\": Local is a different zone on every machine",
		`{windows: [{schedule: "@daily", duration: 1h, timeZone: "+02:00"}]}`: "spec.disruption.windows[0].timeZone",
		`{defaultDenny: true}`:                                                "defaultDenny",
		`{workloadCooldown: 99999999h}`:                                       "spec.disruption.workloadCooldown",
		`{paybackTime: 99999999h}`:                                            "spec.disruption.paybackTime",
		`{loopFreeze: 99999999h}`:                                             "spec.disruption.loopFreeze",
		`{minNodeAge: 99999999h}`:                                             "spec.disruption.minNodeAge",
		`{expiryDeadline: 99999999h}`:                                         "spec.disruption.expiryDeadline",
		`{windows: [{schedule: "@daily", duration: 99999999h}]}`:              "spec.disruption.windows[0].duration",
		`{minNodeAge: 999999h999999h999999h}`:                                 "spec.disruption.minNodeAge",
	} {
		text := fmt.Sprintf("apiVersion: millwright.dev/v1alpha1\nkind: NodePolicy\nmetadata: {name: a}\nspec:\n  nodePools: {selector: {}}\n  disruption: %s\n", disruption)
		_, problems, err := CustomResource(nodePolicy, asJSON(t, text))
		if err != nil {
			t.Errorf("%s: %v", disruption, err)
			continue
		}
		var texts []string
		for _, p := range problems {
			texts = append(texts, p.Error())
		}
		got := strings.Join(texts, "; ")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", disruption, got, want)
		}
	}
}

// One object that cannot be read keeps a controller from reading any: whatever schema
// and rules admit as a duration must be one that Go holds.
func TestEveryDurationOfAPolicyThatIsAdmittedCanBeRead(t *testing.T) {
	text, err := os.ReadFile("../../deploy/crds/millwright.dev_nodepolicies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	count := 0
	var walk func(path string, s apiextensionsv1.JSONSchemaProps)
	walk = func(path string, s apiextensionsv1.JSONSchemaProps) {
		for name, p := range s.Properties {
			walk(path+"."+name, p)
		}
		if s.Items != nil {
			walk(path+"[]", *s.Items.Schema)
		}
		if !strings.Contains(s.Pattern, "s|m|h") {
			return
		}
		count++
		pattern := regexp.MustCompile(s.Pattern)
		if s.MaxLength == nil || pattern.MatchString("1000000h") {
			t.Errorf("%s: a duration without bounds: %q, length %v", path, s.Pattern, s.MaxLength)
			return
		}
		longest := strings.Repeat("999999h", int(*s.MaxLength/7)) + strings.Repeat("9", max(0, int(*s.MaxLength%7)-1)) + "h"
		if _, err := time.ParseDuration(longest); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	walk("", *crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
	if count < 20 {
		t.Errorf("only %d durations were looked at", count)
	}
}
