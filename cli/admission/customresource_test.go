package admission

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

var (
	nodePool  = schema.GroupVersionKind{Group: "karpenter.sh", Version: "v1", Kind: "NodePool"}
	kwokClass = schema.GroupVersionKind{Group: "karpenter.kwok.sh", Version: "v1alpha1", Kind: "KWOKNodeClass"}
	ec2Class  = schema.GroupVersionKind{Group: "karpenter.k8s.aws", Version: "v1", Kind: "EC2NodeClass"}
)

func asJSON(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func pool(spec string) string {
	return `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
` + spec
}

func TestAPoolGetsTheDefaultsOfItsCRD(t *testing.T) {
	raw, problems, err := CustomResource(nodePool, asJSON(t, pool("      requirements: []\n")))
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	var got struct {
		Spec struct {
			Disruption struct {
				Budgets             []struct{ Nodes string }
				ConsolidateAfter    string
				ConsolidationPolicy string
			}
			Template struct{ Spec struct{ ExpireAfter string } }
		}
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	d := got.Spec.Disruption
	if got.Spec.Template.Spec.ExpireAfter != "720h" || d.ConsolidateAfter != "0s" || len(d.Budgets) != 1 || d.Budgets[0].Nodes != "10%" || d.ConsolidationPolicy != "WhenEmptyOrUnderutilized" {
		t.Errorf("got %s", raw)
	}
}

// Fields and values that Karpenter has from 1.15 on.
func TestWhatLaterReleasesHaveAddedIsTakenAndKept(t *testing.T) {
	const class = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: a}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{id: subnet-1}]
  securityGroupSelectorTerms: [{id: sg-1}]
  kubelet: {maxPods: vcpus * 10, seccompDefault: true}
  enclaveOptions: {enabled: false}
`
	for kind, row := range map[schema.GroupVersionKind]struct{ text, kept string }{
		nodePool: {pool("      requirements: []\n  disruption: {budgets: [{nodes: '1', reasons: [Unhealthy]}]}\n"), `"budgets":[{"nodes":"1","reasons":["Unhealthy"]}],"consolidateAfter":"0s"`},
		ec2Class: {class, `"kubelet":{"maxPods":"vcpus * 10","seccompDefault":true}`},
	} {
		raw, problems, err := CustomResource(kind, asJSON(t, row.text))
		if err != nil || len(problems) > 0 || !strings.Contains(string(raw), row.kept) {
			t.Errorf("%s: %v %v\n%s", kind.Kind, err, problems, raw)
		}
	}
}

func TestWhatAnAPIServerRefusesIsRefusedWithTheField(t *testing.T) {
	for name, c := range map[string]struct {
		kind              schema.GroupVersionKind
		text, field, says string
	}{
		"a CEL rule": {
			nodePool, pool("      requirements: [{key: kubernetes.io/arch, operator: In, values: []}]\n"),
			"spec.template.spec.requirements", "requirements with operator 'In' must have a value defined",
		},
		"a restricted label": {
			nodePool, pool("      requirements: [{key: karpenter.sh/custom, operator: Exists}]\n"),
			"spec.template.spec.requirements[0].key", "label domain \"karpenter.sh\" is restricted",
		},
		"an unknown operator": {
			nodePool, pool("      requirements: [{key: a, operator: Equals, values: [b]}]\n"),
			"spec.template.spec.requirements[0].operator", "Unsupported value: \"Equals\"",
		},
		"a pattern": {
			nodePool, pool("      requirements: []\n      expireAfter: 3 days\n"),
			"spec.template.spec.expireAfter", "should match",
		},
		"a range": {
			nodePool, pool("      requirements: []\n  weight: 101\n"),
			"spec.weight", "should be less than or equal to 100",
		},
		"a missing field": {nodePool, pool(""), "spec.template.spec.requirements", "Required value"},
		"an unknown field": {
			nodePool, pool("      requirements: []\n      labels: {a: b}\n"),
			"spec.template.spec.labels", "unknown field",
		},
		"a wrong type": {
			nodePool, pool("      requirements: []\n  weight: heavy\n"),
			"spec.weight", "must be of type integer",
		},
		"a rule over two fields": {
			nodePool, pool("      requirements: []\n  disruption: {consolidateAfter: 0s, budgets: [{nodes: '1', schedule: '@daily'}]}\n"),
			"spec.disruption.budgets", "'schedule' must be set with 'duration'",
		},
		"a KWOK class": {
			kwokClass, "{apiVersion: karpenter.kwok.sh/v1alpha1, kind: KWOKNodeClass, metadata: {name: a}, spec: {nodeRegistrationDelay: soon}}",
			"spec.nodeRegistrationDelay", "should match",
		},
		"an EC2 class": {
			ec2Class, "{apiVersion: karpenter.k8s.aws/v1, kind: EC2NodeClass, metadata: {name: a}, spec: {role: r, subnetSelectorTerms: [], securityGroupSelectorTerms: [{id: sg-1}], amiSelectorTerms: [{alias: al2023@latest}]}}",
			"spec.subnetSelectorTerms", "subnetSelectorTerms cannot be empty",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems, err := CustomResource(c.kind, asJSON(t, c.text))
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range problems {
				if p.Field == c.field && strings.Contains(p.Error(), c.says) {
					return
				}
			}
			t.Errorf("got %v, want %s: … %s …", problems, c.field, c.says)
		})
	}
}

func TestAKindWithoutACRDIsNotAccepted(t *testing.T) {
	beta := nodePool
	beta.Version = "v1beta1"
	if _, _, err := CustomResource(beta, []byte("{}")); err == nil {
		t.Error("no error")
	}
}
