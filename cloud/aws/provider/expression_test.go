package provider

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	ec2class "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud/aws/expression"
	"github.com/millwright-dev/millwright/engine/catalog"
)

// gated is a provider that evaluates expressions.
func (r *rig) gated() *Provider {
	c := r.config(r.once())
	c.Expressions = expression.New()
	p := New(c)
	r.must(p.Refresh(r.t.Context()))
	return p
}

// expressive is a class of a family whose kubelets follow the size of the machine.
func expressive(family string) *awsv1.EC2NodeClass {
	c := readyClass()
	c.Spec.AMIFamily = &family
	c.Spec.Kubelet = &ec2class.KubeletConfiguration{
		KubeReserved: map[string]string{"cpu": "vcpus * 30", "memory": "512Mi"}, SystemReserved: map[string]string{"memory": "memory_mib / 100"},
	}
	c.Later.Kubelet = map[string]json.RawMessage{"maxPods": json.RawMessage(`"vcpus * 10"`)}
	return c
}

// Machines are told values: types with the same ones share a launch template, others do not.
func TestUserDataHoldValuesOfExpressions(t *testing.T) {
	for family, want := range map[string][]string{
		ec2class.AMIFamilyAL2023:       {"maxPods: 20", "cpu: 60m", "memory: 512Mi", "memory: 96Mi"},
		ec2class.AMIFamilyAL2:          {"--max-pods=20", "--kube-reserved=cpu=60m,memory=512Mi", "--system-reserved=memory=96Mi"},
		ec2class.AMIFamilyBottlerocket: {"max-pods = 20", "cpu = '60m'", "memory = '512Mi'", "memory = '96Mi'"},
		ec2class.AMIFamilyWindows2022:  {"--max-pods=20", "--kube-reserved=cpu=60m,memory=512Mi", "--system-reserved=memory=96Mi"},
		ec2class.AMIFamilyCustom:       nil,
	} {
		t.Run(family, func(t *testing.T) {
			r := newRig(t, "m5.large", "m5a.large", "m5.xlarge")
			class := expressive(family)
			r.kube = kubernetes(class)
			p := r.gated()
			names, text := map[string]string{}, ""
			for _, c := range r.request(p, "claim", onDemand).Choices {
				content, err := (&launch{Provider: p, attempt: &attempt{}, req: r.request(p, "claim", onDemand), class: class}).content(c, nil)
				r.must(err)
				names[c.Type.Name] = content.Name()
				if pods := c.Type.Capacity.Pods().Value(); pods != c.Type.Capacity.Cpu().Value()*10 {
					t.Errorf("%s is planned with %d pods", c.Type.Name, pods)
				}
				if c.Type.Name == "m5.large" {
					data, err := base64.StdEncoding.DecodeString(content.UserData)
					r.must(err)
					text = string(data)
				}
			}
			for _, w := range want {
				if !strings.Contains(text, w) {
					t.Errorf("%q is not in\n%s", w, text)
				}
			}
			if len(names) != 3 || strings.Contains(text, "vcpus") || strings.Contains(text, "memory_mib") {
				t.Errorf("of %d types one is told\n%s", len(names), text)
			}
			if names["m5.large"] != names["m5a.large"] || (names["m5.large"] == names["m5.xlarge"]) != (want == nil) {
				t.Errorf("the launch templates are %v", names)
			}
		})
	}
}

func TestAnExpressionThatCannotBeWorkedOutIsNamedInACondition(t *testing.T) {
	for spec, want := range map[string]string{
		"{kubelet: {maxPods: vcpus * 10, systemReserved: {memory: memory_mib / 100}}}": "",
		"{kubelet: {maxPods: cpus * 10}}":                                              `ValidationSucceeded KubeletExpressionInvalid spec.kubelet.maxPods: "cpus * 10" is neither a number nor an expression: undeclared reference to 'cpus' at 1:1`,
		"{kubelet: {kubeReserved: {cpu: 100 / (4 - vcpus)}}}":                          `ValidationSucceeded KubeletExpressionEvaluationFailed spec.kubelet.kubeReserved.cpu: "100 / (4 - vcpus)" has no value for m5.xlarge: division by zero`,
	} {
		r := newRig(t, "m5.large", "m5.xlarge", "m6g.large")
		class := &awsv1.EC2NodeClass{}
		r.must(r.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, class))
		discovering(class)
		r.overlay(class, spec)
		p := r.gated()
		_, err := p.Resolve(t.Context(), class)
		r.must(err)
		said := ""
		for _, c := range class.Status.Conditions {
			said += told(c)
		}
		if strings.TrimSpace(said) != want {
			t.Errorf("%s: said is %q, want %q", spec, said, want)
		}
		if _, err := p.catalogue(class); (err == nil) != (want == "") {
			t.Errorf("%s: the catalogue: %v", spec, err)
		}
	}
}

// A machine that runs is described with what its kubelet was told.
func TestAMachineHasTheCapacityThatItsExpressionsGive(t *testing.T) {
	r := newRig(t, "m5.large")
	r.kube = kubernetes(expressive(ec2class.AMIFamilyAL2023))
	p := r.gated()
	launched, err := p.Launch(t.Context(), r.request(p, "claim", func(c catalog.Choice) bool { return onDemand(c) }))
	r.must(err)
	listed, err := r.gated().List(t.Context())
	r.must(err)
	if len(listed) != 1 || launched.Capacity.Pods().Value() != 20 || listed[0].Capacity.Pods().Value() != 20 || listed[0].Allocatable.Memory().Cmp(*launched.Allocatable.Memory()) != 0 {
		t.Errorf("launched %+v, listed %+v", launched, listed)
	}
}
