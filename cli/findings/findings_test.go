package findings_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/cli/findings"
	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/engine/plan"
)

// two findings: an error in a file, with a patch, and a warning about a chart, with its fix.
var two = findings.Report{
	Findings: []doctor.Finding{
		{
			Check: "agent-shut-out", Severity: doctor.Error, Object: plan.ObjectRef{Kind: "DaemonSet", Namespace: "kube-system", Name: "csi"},
			Field: "spec.template.spec.tolerations", Message: "lack a|b", Advice: "tolerate the taint",
			Patch: &doctor.Patch{Object: plan.ObjectRef{Kind: "DaemonSet", Namespace: "kube-system", Name: "csi"}, Steps: []doctor.Step{{Op: "add", Path: "/x", Value: 1}}},
		},
		{
			Check: "budget-never-opens", Severity: doctor.Warning, Object: plan.ObjectRef{Kind: "NodePool", Name: "general"},
			Field: "spec.disruption.budgets[0].nodes", Message: "is 0", Advice: "allow some", Origin: "chart pools",
			Fix: &doctor.Fix{Form: "Helm values", Do: "helm upgrade pools", Text: "budgets:\n- nodes: 10%\n", File: "pools.values.yaml"},
		},
	},
	Where: func(f doctor.Finding) string {
		if f.Object.Name == "csi" {
			return "deploy/csi.yaml:12"
		}
		return ""
	},
}

func write(t *testing.T, r findings.Report, form string) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b, form); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCodeScanningGetsRulesLevelsAndLines(t *testing.T) {
	var log struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct {
					Rules []struct {
						ID   string
						Help struct{ Text string }
					}
				}
			}
			Results []struct {
				RuleID, Level string
				Locations     []struct {
					PhysicalLocation *struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine int }
					}
					LogicalLocations []struct{ FullyQualifiedName string }
				}
				PartialFingerprints map[string]string
			}
		}
	}
	if err := json.Unmarshal([]byte(write(t, two, "sarif")), &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if log.Version != "2.1.0" || len(run.Tool.Driver.Rules) != len(doctor.Checks()) || run.Tool.Driver.Rules[0].Help.Text == "" || len(run.Results) != 2 {
		t.Fatalf("%+v", log)
	}
	first, second := run.Results[0], run.Results[1]
	if at := first.Locations[0].PhysicalLocation; first.Level != "error" || first.RuleID != "agent-shut-out" || at.ArtifactLocation.URI != "deploy/csi.yaml" || at.Region.StartLine != 12 {
		t.Errorf("%+v at %+v", first, at)
	}
	if second.Level != "warning" || second.Locations[0].PhysicalLocation != nil || second.Locations[0].LogicalLocations[0].FullyQualifiedName != "nodepool/general" || len(second.PartialFingerprints) != 1 {
		t.Errorf("%+v", second)
	}
}

func TestAPipelineGetsAFailureForEachFindingAndATestForEachCheck(t *testing.T) {
	var suite struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Cases    []struct {
			Class   string `xml:"classname,attr"`
			Failure *struct {
				Type string `xml:"type,attr"`
				Text string `xml:",chardata"`
			} `xml:"failure"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal([]byte(write(t, two, "junit")), &suite); err != nil {
		t.Fatal(err)
	}
	failed := map[string]string{}
	for _, c := range suite.Cases {
		if c.Failure != nil {
			failed[c.Class] = c.Failure.Type + ": " + c.Failure.Text
		}
	}
	if suite.Failures != 2 || suite.Tests != len(suite.Cases) || len(suite.Cases) != len(doctor.Checks()) || len(failed) != 2 || !strings.Contains(failed["budget-never-opens"], "- nodes: 10%") || !strings.HasPrefix(failed["agent-shut-out"], "error: ") {
		t.Errorf("%d tests, %d failures: %v", suite.Tests, suite.Failures, failed)
	}
}

func TestMarkdownKeepsItsTableAndHasTheFixes(t *testing.T) {
	got := write(t, two, "markdown")
	for _, want := range []string{
		"## millwright doctor: 1 error, 1 warning\n",
		"| error | agent-shut-out | `daemonset/csi -n kube-system` | spec.template.spec.tolerations: lack a\\|b |\n",
		"```\nkubectl patch daemonset csi -n kube-system --type=json",
		"```\nbudgets:\n- nodes: 10%\n```\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestEveryFormSaysThatNothingWasFound(t *testing.T) {
	for form, want := range map[string]string{
		"text": "Nothing found.\n", "json": "{\n  \"findings\": []\n}\n", "yaml": "findings: []\n",
		"markdown": "## millwright doctor: 0 errors, 0 warnings\n", "sarif": `"results": []`, "junit": `failures="0"`,
	} {
		if got := write(t, findings.Report{}, form); !strings.Contains(got, want) {
			t.Errorf("%s:\n%s", form, got)
		}
	}
	if len(findings.Forms()) != 6 {
		t.Errorf("a form is not tested: %v", findings.Forms())
	}
}
