package checkup_test

import (
	"context"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/checkup"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/controllers/metrics"
)

func tainted(name, class string) *karpv1.NodePool {
	np := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	np.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: looptest.Class.Group, Kind: class, Name: "default"}
	np.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "example.com/dedicated", Effect: corev1.TaintEffectNoSchedule}}
	return np
}

// plugin is a node plugin that tolerates nothing.
func plugin() *appsv1.DaemonSet {
	ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "csi"}}
	ds.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "r", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/lib/kubelet/plugins_registry"}}}}
	return ds
}

func TestAPoolSaysWhatIsSeriousUntilItIsMended(t *testing.T) {
	ctx := context.Background()
	ds := plugin()
	r := looptest.New(t, tainted("dedicated", looptest.Class.Kind), tainted("elsewhere", "EC2NodeClass"), ds)
	registry := prometheus.NewRegistry()
	var err error
	r.Deps.Metrics, err = metrics.New(registry, metrics.Build{})
	r.Must(err)
	e := &checkup.Examiner{Deps: r.Deps}
	condition := func(pool string) string {
		np := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: pool}}
		if !r.Get(np) {
			t.Fatal("there is no pool " + pool)
		}
		c := np.StatusConditions().Get(checkup.Misconfigured)
		if c == nil {
			return ""
		}
		return string(c.Status) + " " + c.Reason + ": " + c.Message
	}
	r.Must(e.Examine(ctx))
	if got, want := condition("dedicated"), "True AgentShutOut: daemonset/csi -n kube-system: spec.template.spec.tolerations: lack example.com/dedicated"; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "; millwright doctor has the fix") {
		t.Errorf("%q, want %q", got, want)
	}
	if got := condition("elsewhere"); got != "" {
		t.Errorf("a pool of another provider says %q", got)
	}
	if got := series(t, registry); got["agent-shut-out"] != 2 {
		t.Errorf("the metric is %v", got)
	}

	ds = plugin()
	if !r.Get(ds) {
		t.Fatal("there is no DaemonSet")
	}
	ds.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	r.Must(r.Client.Update(ctx, ds))
	r.Must(e.Examine(ctx))
	if got := condition("dedicated"); got != "" {
		t.Errorf("mended, it says %q", got)
	}
	if got := series(t, registry); len(got) > 0 {
		t.Errorf("mended, the metric is %v", got)
	}
}

// series is the gauge of findings by check.
func series(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "millwright_doctor_findings" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "check" {
					out[l.GetValue()] += m.GetGauge().GetValue()
				}
			}
		}
	}
	return out
}
