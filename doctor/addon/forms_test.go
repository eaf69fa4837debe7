package addon_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/doctor/addon"
	"github.com/millwright-dev/millwright/doctor/doctortest"
	"github.com/millwright-dev/millwright/doctor/source"
)

// described is an add-on as aws eks describe-addon prints it, beside objects of other origin.
type described struct {
	name, version, configuration string
	beside                       []client.Object
}

const efsTaint = "efs.csi.aws.com/agent-not-ready"

// waiting is a pool whose nodes wait for the agent of EFS.
func waiting() client.Object {
	np := gpu()
	np.Spec.Template.Spec.Taints = nil
	np.Spec.Template.Spec.StartupTaints = []corev1.Taint{{Key: efsTaint, Effect: corev1.TaintEffectNoExecute}}
	return np
}

// plain is a pool that declares nothing.
func plain() client.Object {
	np := gpu()
	np.Spec.Template.Spec.Taints = nil
	return np
}

// tainted is a node of a group that pods need a toleration for.
func tainted() client.Object {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "system", Labels: map[string]string{"eks.amazonaws.com/nodegroup": "system"}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}},
	}
}

// cases are, of each check that an add-on can show, one that fails it and one that passes it.
var cases = map[string]struct{ bad, good described }{
	"agent-ends-early": {
		described{"aws-ebs-csi-driver", "", `{"node":{"terminationGracePeriodSeconds":5}}`, nil},
		described{"aws-ebs-csi-driver", "v1.36.0-eksbuild.1", `{"node":{"terminationGracePeriodSeconds":60}}`, nil},
	},
	"agent-leaves-early": {
		described{"aws-efs-csi-driver", "", `{"node":{"tolerations":[]}}`, nil},
		described{"aws-efs-csi-driver", "", `{"node":{"tolerations":[{"key":"karpenter.sh/disrupted","operator":"Exists"}]}}`, nil},
	},
	"agent-shut-out": {
		described{"vpc-cni", "", `{"tolerations":[]}`, []client.Object{gpu()}},
		described{"vpc-cni", "", `{"tolerations":[{"key":"nvidia.com/gpu","operator":"Exists"}]}`, []client.Object{gpu()}},
	},
	"attach-limit-fixed": {
		described{"aws-ebs-csi-driver", "", ``, []client.Object{ebsDriver()}},
		described{"aws-ebs-csi-driver", "", `{"node":{"reservedVolumeAttachments":4}}`, []client.Object{ebsDriver()}},
	},
	"controller-never-moves": {
		described{"metrics-server", "", `{"tolerations":[{"operator":"Exists"}]}`, nil},
		described{"metrics-server", "", `{"tolerations":[{"key":"CriticalAddonsOnly","operator":"Exists"}]}`, nil},
	},
	"nowhere-to-run": {
		described{"coredns", "", ``, []client.Object{tainted()}},
		described{"coredns", "", `{"tolerations":[{"key":"dedicated","operator":"Exists"}]}`, []client.Object{tainted()}},
	},
	"pdb-allows-none": {
		described{"coredns", "", `{"podDisruptionBudget":{"enabled":true,"minAvailable":2}}`, nil},
		described{"coredns", "", `{"replicaCount":3,"podDisruptionBudget":{"enabled":true,"minAvailable":2}}`, nil},
	},
	"single-replica": {
		described{"coredns", "", `{"replicaCount":1}`, nil},
		described{"coredns", "", `{"replicaCount":2}`, nil},
	},
	"startup-taint-missing": {
		described{"aws-efs-csi-driver", "", ``, []client.Object{plain()}},
		described{"aws-efs-csi-driver", "", ``, []client.Object{waiting()}},
	},
	"startup-taint-stays": {
		described{"coredns", "", ``, []client.Object{waiting()}},
		described{"aws-efs-csi-driver", "", ``, []client.Object{waiting()}},
	},
}

func ebsDriver() client.Object {
	return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "ebs.csi.aws.com"}}
}

// finds is what a check says of an add-on that was described, and of what is beside it.
func (d described) finds(t *testing.T, check string) ([]doctor.Finding, *source.Set) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"addon": map[string]any{"clusterName": "live", "addonName": d.name, "addonVersion": d.version, "configurationValues": d.configuration}})
	if err != nil {
		t.Fatal(err)
	}
	read, err := addon.Read(strings.NewReader(string(text)))
	if err != nil || len(read) != 1 {
		t.Fatalf("%v: %+v", err, read)
	}
	src, err := read[0].Source()
	if err != nil {
		t.Fatal(err)
	}
	set := &source.Set{}
	objects, err := set.Add(src)
	if err != nil {
		t.Fatal(err)
	}
	found := slices.DeleteFunc(doctor.Examine(doctor.New(append(objects, d.beside...), true)), func(f doctor.Finding) bool { return f.Check != check })
	if err := set.Mend(found); err != nil {
		t.Fatal(err)
	}
	return found, set
}

// Of every check that an add-on can show: the failing configuration is found, the passing one is
// not, and the fixes, of the configuration and of what is beside it, mend the former.
func TestAddonsAreExaminedByEveryCheckThatTheyCanShow(t *testing.T) {
	for _, check := range doctortest.Checks(doctortest.Addon) {
		t.Run(check, func(t *testing.T) {
			c, ok := cases[check]
			if !ok {
				t.Fatal("there is no configuration that fails it")
			}
			found, set := c.bad.finds(t, check)
			if len(found) == 0 {
				t.Fatal("nothing is found")
			}
			if left, _ := c.good.finds(t, check); len(left) > 0 {
				t.Errorf("what is good: %+v", left)
			}
			fixes, err := set.Fixes(found)
			if err != nil {
				t.Fatal(err)
			}
			for _, fix := range fixes {
				if fix.Form == "EKS add-on" {
					c.bad.configuration = fix.Text
				}
			}
			for i, o := range c.bad.beside {
				c.bad.beside[i] = patched(t, o, found)
			}
			if left, _ := c.bad.finds(t, check); len(left) > 0 {
				t.Errorf("with %s there is still %+v", c.bad.configuration, left)
			}
		})
	}
}

// patched is an object with the patches of findings about it.
func patched(t *testing.T, o client.Object, found []doctor.Finding) client.Object {
	t.Helper()
	for _, f := range found {
		if f.Patch == nil || f.Patch.Object.Kind != doctor.KindOf(o) || f.Patch.Object.Name != o.GetName() {
			continue
		}
		text, err := f.Patch.JSON()
		if err != nil {
			t.Fatal(err)
		}
		patch, err := jsonpatch.DecodePatch(text)
		if err != nil {
			t.Fatal(err)
		}
		before, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		after, err := patch.Apply(before)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		switch o.(type) {
		case *karpv1.NodePool:
			o = &karpv1.NodePool{}
		case *storagev1.CSIDriver:
			o = &storagev1.CSIDriver{}
		default:
			t.Fatalf("%s is patched", o.GetName())
		}
		if err := json.Unmarshal(after, o); err != nil {
			t.Fatal(err)
		}
	}
	return o
}
