package nodepolicy_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/controllers/nodepolicy"
)

func policy(name string, priority int32, pools v1alpha1.PoolSelector, timeout string) *v1alpha1.NodePolicy {
	p := &v1alpha1.NodePolicy{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}}
	p.Spec = v1alpha1.NodePolicySpec{NodePools: pools, Priority: priority}
	if timeout != "" {
		p.Spec.Initialization = &v1alpha1.Initialization{Timeout: timeout}
	}
	return p
}

func pool(name string, labels map[string]string) *karpv1.NodePool {
	return &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func TestTheStatusShowsWhoRulesAndTheStoreFollowsTheSameRule(t *testing.T) {
	everything := v1alpha1.PoolSelector{Selector: &metav1.LabelSelector{}}
	gpu := v1alpha1.PoolSelector{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"gpu": "true"}}}
	r := looptest.New(t,
		pool("web", nil), pool("train", map[string]string{"gpu": "true"}),
		policy("base", 0, everything, "10m"), policy("gpu", 5, gpu, "20m"),
		policy("empty", 0, everything, ""), policy("nobody", 0, v1alpha1.PoolSelector{Names: []string{"later"}}, "1m"),
		policy("lower", -1, gpu, "30m"),
	)
	_, err := nodepolicy.New(r.Deps).Reconcile(context.Background(), reconcile.Request{})
	r.Must(err)
	for name, want := range map[string]string{
		"base":   "Ready=True InForce, Overridden=True Overridden, ValidationSucceeded=True ValidationSucceeded; train: overridden by gpu; web: initialization",
		"gpu":    "Ready=True InForce, Overridden=False NotOverridden, ValidationSucceeded=True ValidationSucceeded; train: initialization",
		"empty":  "Ready=False NoSections, Overridden=False NotOverridden, ValidationSucceeded=True ValidationSucceeded; train: ; web: ",
		"nobody": "Ready=False NoNodePool, Overridden=False NotOverridden, ValidationSucceeded=True ValidationSucceeded",
		"lower":  "Ready=False Overridden, Overridden=True Overridden, ValidationSucceeded=True ValidationSucceeded; train: overridden by gpu",
	} {
		p := policy(name, 0, everything, "")
		r.Get(p)
		if got := describe(p); got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	for name, want := range map[string]time.Duration{"web": 10 * time.Minute, "train": 20 * time.Minute, "gone": 10 * time.Minute} {
		if got := r.Store.Policy(name).Initialization.Timeout; got != want {
			t.Errorf("pool %s: timeout %v, want %v", name, got, want)
		}
	}
	writes := r.API.Writes
	_, err = nodepolicy.New(r.Deps).Reconcile(context.Background(), reconcile.Request{})
	r.Must(err)
	if r.API.Writes != writes {
		t.Error("the same status was written again")
	}
	r.Delete(policy("gpu", 0, everything, ""))
	if got := r.Store.Policy("train").Initialization.Timeout; got != 10*time.Minute {
		t.Errorf("without its policy the pool has the timeout %v", got)
	}
}

// A name may be mistyped, and then the policy holds for less than was meant.
func TestAPolicySaysWhichNodePoolsThatItNamesDoNotExist(t *testing.T) {
	names := func(names ...string) v1alpha1.PoolSelector { return v1alpha1.PoolSelector{Names: names} }
	r := looptest.New(t, pool("web", nil), policy("some", 0, names("web", "tpu", "wbe"), "1m"), policy("none", 0, names("wbe"), "1m"))
	c := nodepolicy.New(r.Deps)
	says := func(name, want string) {
		t.Helper()
		_, err := c.Reconcile(context.Background(), reconcile.Request{})
		r.Must(err)
		p := policy(name, 0, names(), "")
		r.Get(p)
		if got := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady); string(got.Status)+" "+got.Message != want {
			t.Errorf("%s: %s %s, want %s", name, got.Status, got.Message, want)
		}
	}
	says("some", "True spec.nodePools.names: there is no NodePool tpu, wbe")
	says("none", "False no NodePool is selected; spec.nodePools.names: there is no NodePool wbe")
	r.Must(r.Client.Create(context.Background(), pool("wbe", nil)))
	says("some", "True spec.nodePools.names: there is no NodePool tpu")
	says("none", "True ")
}

// The API server admits invalid selectors; the policy names it, wherever it is.
func TestAPolicySaysWhichOfItsSelectorsAreInvalid(t *testing.T) {
	none := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn}}}
	some := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	p := policy("broken", 0, v1alpha1.PoolSelector{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c"}}}, "")
	p.Spec.Initialization = &v1alpha1.Initialization{ReadyDaemonSets: []v1alpha1.DaemonSetSelector{{Selector: some}, {Selector: none}}}
	p.Spec.Termination = &v1alpha1.Termination{Agents: []v1alpha1.DaemonSetSelector{{Selector: none}}}
	p.Spec.Interruption = &v1alpha1.Interruption{Rules: []v1alpha1.InterruptionRule{{Pods: none, Waiting: some}, {Waiting: none}}}
	p.Spec.Repair = &v1alpha1.Repair{Agents: []v1alpha1.RepairAgent{{DaemonSetSelector: v1alpha1.DaemonSetSelector{Selector: none}}}}
	r := looptest.New(t, pool("web", nil), p)
	_, err := nodepolicy.New(r.Deps).Reconcile(context.Background(), reconcile.Request{})
	r.Must(err)
	r.Get(p)
	valid := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionValidationSucceeded)
	if valid.Status != metav1.ConditionFalse {
		t.Fatalf("the policy is taken for valid: %+v", valid)
	}
	var fields []string
	for fault := range strings.SplitSeq(valid.Message, "; ") {
		if path, _, ok := strings.Cut(fault, ": "); ok && strings.HasPrefix(path, "spec.") {
			fields = append(fields, path)
		}
	}
	if want := []string{
		"spec.nodePools.selector.matchLabels",
		"spec.initialization.readyDaemonSets[1].selector.matchExpressions[0].values",
		"spec.termination.agents[0].selector.matchExpressions[0].values",
		"spec.interruption.rules[0].pods.matchExpressions[0].values",
		"spec.interruption.rules[1].waiting.matchExpressions[0].values",
		"spec.repair.agents[0].selector.matchExpressions[0].values",
	}; !slices.Equal(fields, want) {
		t.Errorf("named are %q, want %q; all of it: %s", fields, want, valid.Message)
	}
}

// A window that the API server admits may still never open; the policy says so, and is in
// force all the same.
func TestAPolicySaysWhichOfItsWindowsNeverOpen(t *testing.T) {
	hour := metav1.Duration{Duration: time.Hour}
	p := policy("night", 0, v1alpha1.PoolSelector{Names: []string{"web"}}, "")
	p.Spec.Disruption = &v1alpha1.Disruption{Windows: []v1alpha1.Window{{Schedule: "@daily", Duration: hour}, {Schedule: "0 0 30 2 *", Duration: hour}}}
	p.Spec.Interruption = &v1alpha1.Interruption{Rules: []v1alpha1.InterruptionRule{{}, {Windows: []v1alpha1.Window{{Schedule: "@daily", Duration: hour, TimeZone: "Europe/Atlantis"}}}}}
	r := looptest.New(t, pool("web", nil), p)
	c := nodepolicy.New(r.Deps)
	look := func() (text string, ready bool) {
		_, err := c.Reconcile(context.Background(), reconcile.Request{})
		r.Must(err)
		r.Get(p)
		valid := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionValidationSucceeded)
		return fmt.Sprintf("%s %s: %s", valid.Status, valid.Reason, valid.Message), meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady)
	}
	const want = `False NodePolicyValidationFailed: ` +
		`spec.disruption.windows[1].schedule: schedule "0 0 30 2 *" never comes, so the window never opens; ` +
		`spec.interruption.rules[1].windows[0].timeZone: time zone "Europe/Atlantis" is not known, so the window never opens`
	if text, ready := look(); text != want || !ready {
		t.Errorf("%s, ready %v\nwant %s", text, ready, want)
	}
	if told := r.Events.List; len(told) != 1 || !strings.HasPrefix(told[0], "NodePolicy/night ValidationFailed: spec.disruption.windows[1]") {
		t.Errorf("events %q", told)
	}
	p.Spec.Disruption.Windows[1].Schedule, p.Spec.Interruption.Rules[1].Windows[0].TimeZone = "0 0 28 2 *", "Europe/Lisbon"
	r.Must(r.Client.Update(context.Background(), p))
	if text, _ := look(); text != "True ValidationSucceeded: " {
		t.Errorf("when it is mended: %s", text)
	}
}

func describe(p *v1alpha1.NodePolicy) string {
	var parts []string
	for _, c := range p.Status.Conditions {
		parts = append(parts, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason))
	}
	out := []string{strings.Join(parts, ", ")}
	for _, s := range p.Status.NodePools {
		text := s.Name + ": "
		for _, section := range s.InForce {
			text += string(section)
		}
		for _, o := range s.Overridden {
			text += "overridden by " + o.By
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}
