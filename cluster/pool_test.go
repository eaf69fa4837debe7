package cluster

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/requirement"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

const poolJSON = `{
 "metadata": {"name": "default"},
 "spec": {
  "weight": 7,
  "limits": {"cpu": "100"},
  "disruption": {"consolidateAfter": "30s", "budgets": [{"nodes": "20%", "reasons": ["Empty"], "schedule": "@daily", "duration": "10m"}]},
  "template": {
   "metadata": {"labels": {"team": "a"}, "annotations": {"note": "x"}},
   "spec": {
    "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "std"},
    "expireAfter": "Never",
    "terminationGracePeriod": "1h",
    "taints": [{"key": "t", "effect": "NoSchedule"}],
    "requirements": [
     {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot", "on-demand"], "minValues": 2},
     {"key": "beta.kubernetes.io/arch", "operator": "In", "values": ["arm64"]}
    ]}}}}`

func testPool(t *testing.T) *karpv1.NodePool {
	t.Helper()
	np := &karpv1.NodePool{}
	if err := json.Unmarshal([]byte(poolJSON), np); err != nil {
		t.Fatal(err)
	}
	return np
}

func TestEveryFieldOfAPoolIsTranslated(t *testing.T) {
	p := Pool(testPool(t), Options{Offline: true})
	if p.NotReady != "" {
		t.Errorf("offline, a pool without conditions is not ready: %s", p.NotReady)
	}
	want := `karpenter.kwok.sh/kwoknodeclass In [std], karpenter.sh/capacity-type In [on-demand spot], karpenter.sh/nodepool In [default], kubernetes.io/arch In [arm64], team In [a]`
	if got := p.Requirements.String(); got != want {
		t.Errorf("requirements\n got %s\nwant %s", got, want)
	}
	if r := p.Requirements.Get("karpenter.sh/capacity-type"); r.MinValues() != 2 {
		t.Errorf("minValues %d", r.MinValues())
	}
	if p.ExpireAfter != nil || *p.TerminationGracePeriod != time.Hour || *p.Disruption.ConsolidateAfter != 30*time.Second {
		t.Errorf("durations %v %v %v", p.ExpireAfter, p.TerminationGracePeriod, p.Disruption.ConsolidateAfter)
	}
	b := p.Disruption.Budgets
	if len(b) != 1 || b[0].Nodes != "20%" || b[0].Duration != 10*time.Minute || b[0].Schedule != "@daily" || b[0].Reasons[0] != "Empty" {
		t.Errorf("budgets %+v", b)
	}
	if p.Disruption.Policy != "WhenEmptyOrUnderutilized" || p.Hash != testPool(t).Hash() || p.HashVersion != "v3" || p.Weight != 7 {
		t.Errorf("got %+v", p)
	}
}

func expireAfter(age string) func(*karpv1.NodePool) {
	return func(np *karpv1.NodePool) { np.Spec.Template.Spec.ExpireAfter = karpv1.MustParseNillableDuration(age) }
}

func TestAPoolSaysWhyItCannotLaunch(t *testing.T) {
	ready := func(np *karpv1.NodePool) {
		np.StatusConditions().SetTrue(karpv1.ConditionTypeValidationSucceeded)
		np.StatusConditions().SetTrue(karpv1.ConditionTypeNodeClassReady)
	}
	for name, test := range map[string]struct {
		change  func(*karpv1.NodePool)
		options Options
		want    string // part of the text; empty means ready
	}{
		"ready":                 {ready, Options{}, ""},
		"not looked at yet":     {func(*karpv1.NodePool) {}, Options{}, "not been validated"},
		"offline and not ready": {func(np *karpv1.NodePool) { np.StatusConditions() }, Options{Offline: true}, "is Unknown"},
		"deleting":              {func(np *karpv1.NodePool) { ready(np); np.DeletionTimestamp = &metav1.Time{Time: noon} }, Options{}, "being deleted"},
		"class missing": {func(np *karpv1.NodePool) {
			ready(np)
			np.StatusConditions().SetFalse(karpv1.ConditionTypeNodeClassReady, "NodeClassNotFound", "no KWOKNodeClass std")
		}, Options{}, "no KWOKNodeClass std"},
		"offline with a bad label":                   {func(np *karpv1.NodePool) { np.Spec.Template.Labels["karpenter.sh/custom"] = "x" }, Options{Offline: true}, "karpenter.sh/custom"},
		"offline with a name that is no label value": {func(np *karpv1.NodePool) { np.Name = strings.Repeat("x", 64) }, Options{Offline: true}, "metadata.name: must be no more than 63"},
		"offline with a class whose name is none":    {func(np *karpv1.NodePool) { np.Spec.Template.Spec.NodeClassRef.Name = strings.Repeat("x", 64) }, Options{Offline: true}, "spec.template.spec.nodeClassRef.name: must be no more than 63"},
		"offline with the longest name":              {func(np *karpv1.NodePool) { np.Name = strings.Repeat("x", 63) }, Options{Offline: true}, ""},
		"offline and expired at once":                {expireAfter("0m"), Options{Offline: true}, "spec.template.spec.expireAfter: is zero"},
		"offline and expired soon":                   {expireAfter("1m"), Options{Offline: true}, ""},
		"offline and never expired":                  {expireAfter("Never"), Options{Offline: true}, ""},
		"unreadable requirement": {func(np *karpv1.NodePool) {
			ready(np)
			np.Spec.Template.Spec.Requirements[0].Operator = "Near"
		}, Options{}, `unknown operator "Near"`},
	} {
		t.Run(name, func(t *testing.T) {
			np := testPool(t)
			test.change(np)
			got := Pool(np, test.options).NotReady
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestAClassWhoseTypesCannotBeListedMakesItsPoolNotReady(t *testing.T) {
	s := NewStore(Options{Offline: true})
	s.Update(testPool(t))
	var asked snapshot.ClassRef
	got := s.Snapshot(noon, func(c snapshot.ClassRef) ([]*catalog.Type, error) {
		asked = c
		return nil, errors.New("no such class")
	})
	if got.Pools[0].NotReady != "no such class" || asked.Name != "std" || asked.Kind != "KWOKNodeClass" {
		t.Errorf("NotReady %q after asking for %v", got.Pools[0].NotReady, asked)
	}
	if again := s.Snapshot(noon, nil); again.Pools[0].NotReady != "" {
		t.Error("one snapshot's error stuck to the store")
	}
}

func TestAClaimWithARequirementNobodyCanReadSuitsNoMachine(t *testing.T) {
	nc := testClaim("c", 1, "", "")
	nc.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{{Key: "kubernetes.io/arch", Operator: "Near", Values: []string{"x"}}}
	types := []*catalog.Type{{Name: "m", Requirements: requirement.FromLabels(map[string]string{corev1.LabelInstanceTypeStable: "m"}), Offerings: []catalog.Offering{{Zone: "a", CapacityType: "spot", Available: true}}}}
	if got := catalog.Rank(types, Claim(nc).Requirements, nil, nil); len(got) != 0 {
		t.Errorf("ranked %v", got)
	}
}

func TestTheLimitsOfADaemonSetStandInForMissingRequests(t *testing.T) {
	s := NewStore()
	ds := &appsv1.DaemonSet{ObjectMeta: meta("agent", 1)}
	ds.Namespace = "kube-system"
	ds.Spec.Template.Spec.Containers = []corev1.Container{{Name: "a", Resources: corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("1Gi")},
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
	}}}
	s.Update(ds)
	got := s.Snapshot(noon, nil).DaemonSets[0].Pod.Class.Requests
	cpu, memory := got.Get(corev1.ResourceCPU), got.Get(corev1.ResourceMemory)
	if cpu.String() != "1" || memory.String() != "1Gi" {
		t.Errorf("requests %v", got)
	}
	if ds.Spec.Template.Spec.Containers[0].Resources.Requests.Memory().Sign() != 0 {
		t.Error("the DaemonSet itself was changed")
	}
}

// Pods that a scheduler has not come to are planned with those that it found no node for.
func TestPodsThatWaitBehindOthersOfTheirSchedulerArePending(t *testing.T) {
	gated := testPod("gated", 1, "")
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}}
	unseen, sibling := testPod("unseen", 1, ""), testPod("sibling", 1, "")
	unseen.Status.Conditions, sibling.Status.Conditions = nil, nil
	sibling.Labels = map[string]string{"of": "another class"}
	unseen.Spec.SchedulerName, unseen.Status.Phase = "another", corev1.PodPending
	applied := testPod("not-applied", 1, "") // but read from a file
	applied.Spec.SchedulerName, applied.Status.Conditions = "a third", nil
	nominated := testPod("nominated", 1, "")
	nominated.Status.NominatedNodeName = "n"
	daemon := testPod("daemon", 1, "")
	daemon.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d"}}
	done := testPod("done", 1, "")
	done.Status.Phase = corev1.PodSucceeded
	for _, test := range []struct {
		options Options
		want    string
	}{{Options{}, "pending nominated\npending sibling\npending waits\n"}, {Options{Offline: true}, "pending gated\npending nominated\npending not-applied\npending sibling\npending waits\n"}} {
		s := NewStore(test.options)
		if test.options.Offline {
			s.Update(applied)
		}
		for _, p := range []*corev1.Pod{gated, unseen, sibling, nominated, daemon, done, testPod("waits", 1, "")} {
			s.Update(p)
		}
		all := s.Snapshot(noon, nil)
		if got := picture(all); got != test.want {
			t.Errorf("offline %v: got\n%s", test.options.Offline, got)
		}
		if len(all.Untried) != 1 || all.Untried[0].Name != "unseen" {
			t.Errorf("untried are %v, want the one of another scheduler", all.Untried)
		}
		s.Nominate(map[types.NamespacedName]string{{Namespace: "default", Name: "unseen"}: "m", {Namespace: "default", Name: "sibling"}: "m"}, nil)
		if planned := s.Planned("m"); len(planned) != 1 || planned[0].Name != "sibling" {
			t.Errorf("planned are %v, want the one that is pending", planned)
		}
	}
}

// A process that has made no plan yet knows from the pods which machines others planned
// them for: by their nomination, or by the taint of the last of those that take them first.
func TestPlansOfOthersAreReadFromPods(t *testing.T) {
	s := NewStore()
	for name, uid := range map[string]types.UID{"c1": "uid-1", "c2": "uid-2"} {
		s.Update(&karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid}})
	}
	nominated, admitted := testPod("nominated", 1, ""), testPod("admitted", 1, "")
	nominated.Status.NominatedNodeName = "n"
	for _, uid := range []string{"uid-1", "uid-2", "uid-gone"} {
		admitted.Spec.Tolerations = append(admitted.Spec.Tolerations, corev1.Toleration{Key: snapshot.PlannedTaint, Value: uid})
	}
	for _, p := range []*corev1.Pod{nominated, admitted, testPod("waits", 1, "")} {
		s.Update(p)
	}
	got := map[string]string{}
	for pod, machine := range s.Snapshot(noon, nil).Nominated {
		got[pod.Name] = machine
	}
	if want := map[string]string{"nominated": "n", "admitted": "c2"}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Claims say for how many pods of which workload they were launched. What is on the Node
// already, or names the machine, is off that.
func TestAsLongAsThereIsNoPlanPodsGoToTheClaimsThatWereLaunchedForThem(t *testing.T) {
	s := NewStore()
	claim := func(name, launchedFor string, change func(*karpv1.NodeClaim)) {
		c := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Annotations: map[string]string{"millwright.dev/launched-for": launchedFor}}}
		if change != nil {
			change(c)
		}
		s.Update(c)
	}
	claim("c1", "Pod/default/alone=1,ReplicaSet/default/web=2", nil)
	claim("c2", "ReplicaSet/default/web=3", func(c *karpv1.NodeClaim) { c.Status.NodeName = "n2" })
	claim("c3", "ReplicaSet/default/web", nil) // of an earlier version, without numbers
	claim("ready", "ReplicaSet/default/web=9", func(c *karpv1.NodeClaim) {
		c.Status.Conditions = []status.Condition{{Type: karpv1.ConditionTypeInitialized, Status: metav1.ConditionTrue}}
	})
	web := func(name string, change func(*corev1.Pod)) {
		p := testPod(name, 1, "")
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: &yes}}
		if change != nil {
			change(p)
		}
		s.Update(p)
	}
	s.Update(testPod("alone", 1, ""))
	s.Update(testPod("other", 1, ""))
	web("web-0", func(p *corev1.Pod) { p.Spec.NodeName = "n2" })
	web("web-1", func(p *corev1.Pod) { p.Status.NominatedNodeName = "n2" })
	for _, name := range []string{"web-2", "web-3", "web-4", "web-5"} {
		web(name, nil)
	}
	nominated := func() string {
		var out []string
		for pod, machine := range s.Snapshot(noon, nil).Nominated {
			out = append(out, pod.Name+" "+machine)
		}
		slices.Sort(out)
		return strings.Join(out, ", ")
	}
	for range 2 {
		if got, want := nominated(), "alone c1, web-1 n2, web-2 c1, web-3 c1, web-4 c2"; got != want {
			t.Errorf("got %s; want %s", got, want)
		}
	}
	s.Nominate(map[types.NamespacedName]string{}, nil)
	if got, want := nominated(), "web-1 n2"; got != want {
		t.Errorf("after a plan without them: got %s; want %s", got, want)
	}
}
