package addon_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/addon"
	"github.com/millwright-dev/millwright/doctor/source"
)

// gpu is a pool whose nodes only pods with a toleration run on.
func gpu() *karpv1.NodePool {
	np := &karpv1.NodePool{}
	np.Name = "gpu"
	np.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "nvidia.com/gpu", Effect: corev1.TaintEffectNoSchedule}}
	return np
}

func examine(t *testing.T, a addon.Addon) ([]doctor.Finding, *source.Set) {
	t.Helper()
	src, err := a.Source()
	if err != nil {
		t.Fatal(err)
	}
	set := &source.Set{}
	objects, err := set.Add(src)
	if err != nil {
		t.Fatal(err)
	}
	found := doctor.Examine(doctor.New(append(objects, gpu()), true))
	if err := set.Mend(found); err != nil {
		t.Fatal(err)
	}
	return found, set
}

// Each configuration gets the findings that are named, and none once the fix is the
// configuration.
func TestConfigurationsAreExaminedAndMended(t *testing.T) {
	for name, test := range map[string]struct {
		addon addon.Addon
		want  []string
	}{
		"ebs: by default":              {addon.Addon{Name: "aws-ebs-csi-driver"}, nil},
		"ebs: tolerations of its own":  {addon.Addon{Name: "aws-ebs-csi-driver", Configuration: `{"node":{"tolerateAllTaints":false}}`}, []string{"agent-shut-out"}},
		"ebs: before 1.36":             {addon.Addon{Name: "aws-ebs-csi-driver", Version: "v1.35.0-eksbuild.2", Configuration: `{"node":{"tolerateAllTaints":false}}`}, []string{"agent-shut-out", "agent-ends-early", "agent-leaves-early"}},
		"ebs: ends early":              {addon.Addon{Name: "aws-ebs-csi-driver", Configuration: `{"node":{"terminationGracePeriodSeconds":5}}`}, []string{"agent-ends-early"}},
		"ebs: the taint is tolerated":  {addon.Addon{Name: "aws-ebs-csi-driver", Configuration: "node:\n  tolerateAllTaints: false\n  tolerations: [{key: nvidia.com/gpu, operator: Exists}]"}, nil},
		"ebs: an unmovable controller": {addon.Addon{Name: "aws-ebs-csi-driver", Configuration: `{"controller":{"tolerations":[{"operator":"Exists"}]}}`}, []string{"controller-never-moves"}},
		"efs: by default":              {addon.Addon{Name: "aws-efs-csi-driver"}, nil},
		"efs: nothing tolerated":       {addon.Addon{Name: "aws-efs-csi-driver", Configuration: `{"node":{"tolerations":[]}}`}, []string{"agent-shut-out", "agent-leaves-early"}},
		"coredns: by default":          {addon.Addon{Name: "coredns"}, nil},
		"coredns: unmovable":           {addon.Addon{Name: "coredns", Configuration: `{"tolerations":[{"operator":"Exists"}]}`}, []string{"controller-never-moves"}},
		"coredns: none may go":         {addon.Addon{Name: "coredns", Configuration: `{"podDisruptionBudget":{"enabled":true,"minAvailable":2}}`}, []string{"pdb-allows-none"}},
		"vpc-cni: by default":          {addon.Addon{Name: "vpc-cni"}, nil},
		"vpc-cni: nothing tolerated":   {addon.Addon{Name: "vpc-cni", Configuration: `{"tolerations":[]}`}, []string{"agent-shut-out", "agent-leaves-early"}},
		"kube-proxy":                   {addon.Addon{Name: "kube-proxy"}, nil},
		"eks-pod-identity-agent":       {addon.Addon{Name: "eks-pod-identity-agent"}, nil},
		"metrics-server":               {addon.Addon{Name: "metrics-server"}, nil},
		"metrics-server: unmovable":    {addon.Addon{Name: "metrics-server", Configuration: `{"tolerations":[{"operator":"Exists"}]}`}, []string{"controller-never-moves"}},
	} {
		t.Run(name, func(t *testing.T) {
			found, set := examine(t, test.addon)
			var checks []string
			for _, f := range found {
				if f.Object.Kind == "NodePool" {
					continue // what add-ons want of pools is mended there
				}
				checks = append(checks, f.Check)
				if f.Origin != "EKS add-on "+test.addon.Name || f.Patch != nil && f.Fix == nil {
					t.Errorf("%s of %q: fix %v", f.Object, f.Origin, f.Fix)
				}
			}
			if !slices.Equal(checks, test.want) {
				t.Fatalf("found %v, want %v", checks, test.want)
			}
			fixes, err := set.Fixes(found)
			if err != nil || len(fixes) > 1 {
				t.Fatalf("%d fixes: %v", len(fixes), err)
			}
			for _, fix := range fixes {
				test.addon.Configuration = fix.Text
			}
			if left, _ := examine(t, test.addon); slices.ContainsFunc(left, func(f doctor.Finding) bool { return f.Patch != nil && f.Object.Kind != "NodePool" }) {
				t.Errorf("with %s there is still %+v", test.addon.Configuration, left)
			}
		})
	}
}

func TestTheFixIsTheWholeConfiguration(t *testing.T) {
	found, _ := examine(t, addon.Addon{Cluster: "live", Name: "vpc-cni", Configuration: `{"env":{"ENABLE_PREFIX_DELEGATION":"true"},"tolerations":[]}`})
	if len(found) == 0 {
		t.Fatal("nothing is found")
	}
	fix := found[0].Fix
	const command = "aws eks update-addon --cluster-name live --addon-name vpc-cni --resolve-conflicts PRESERVE --configuration-values file://vpc-cni.configuration.json"
	if fix.Do != command || fix.File != "vpc-cni.configuration.json" {
		t.Errorf("%s is applied by %s", fix.File, fix.Do)
	}
	var whole struct {
		Env         map[string]string
		Tolerations []corev1.Toleration
	}
	if err := json.Unmarshal([]byte(fix.Text), &whole); err != nil || whole.Env["ENABLE_PREFIX_DELEGATION"] != "true" || len(whole.Tolerations) == 0 {
		t.Errorf("%v: %s", err, fix.Text)
	}
}

func TestWhatDescribeAddonPrintsIsRead(t *testing.T) {
	file, err := os.Open("testdata/describe.json")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	got, err := addon.Read(file)
	want := []addon.Addon{
		{Cluster: "live", Name: "aws-ebs-csi-driver", Version: "v1.35.0-eksbuild.2", Configuration: `{"node":{"tolerateAllTaints":false}}`},
		{Cluster: "live", Name: "kube-proxy", Version: "v1.33.3-eksbuild.4"},
	}
	if err != nil || len(got) != 2 || got[0].Configuration != want[0].Configuration || got[0].Version != want[0].Version || got[1].Name != want[1].Name || got[1].Configuration != "" || got[0].Cluster != "live" {
		t.Errorf("%v: %+v", err, got)
	}
	for text, want := range map[string]string{"": "it is empty", "{}": "no addon.addonName", "[]": "want an object, got a list; not what aws eks describe-addon prints", `{"addon":"vpc-cni"}`: "addon: want an object, got the string \"vpc-cni\"; not what", `{"addon":{"addonName":5}}`: "addon.addonName: want a string, got the number 5; not what", `{"addon":`: "not JSON"} {
		if _, err := addon.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestBadAddonsAreNamed(t *testing.T) {
	for want, a := range map[string]addon.Addon{
		"add-on snapshot-controller: it is not known what it runs; known are aws-ebs-csi-driver, aws-efs-csi-driver, coredns": {Name: "snapshot-controller"},
		"add-on coredns: configuration values: ": {Name: "coredns", Configuration: "["},
		`add-on coredns: version "vfoo-1": `:     {Name: "coredns", Version: "vfoo-1"},
	} {
		if _, err := a.Source(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
