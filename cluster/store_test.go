package cluster

import (
	"fmt"
	"math/rand"
	"strconv"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func meta(name string, version int) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: strconv.Itoa(version), CreationTimestamp: metav1.NewTime(noon)}
}

func testClaim(name string, version int, providerID, nodeName string) *karpv1.NodeClaim {
	return &karpv1.NodeClaim{ObjectMeta: meta(name, version), Status: karpv1.NodeClaimStatus{ProviderID: providerID, NodeName: nodeName}}
}

func initialized(c *karpv1.NodeClaim) *karpv1.NodeClaim {
	c.Status.Conditions = []status.Condition{{Type: karpv1.ConditionTypeInitialized, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon)}}
	return c
}

func testNode(name string, version int, providerID string) *corev1.Node {
	return &corev1.Node{ObjectMeta: meta(name, version), Spec: corev1.NodeSpec{ProviderID: providerID}}
}

func testPod(name string, version int, node string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: meta(name, version), Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
		Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
	}}}}
	p.Namespace = "default"
	if node == "" {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	}
	return p
}

// picture prints the parts of a snapshot that matter here.
func picture(s *snapshot.Snapshot) string {
	out := ""
	for _, n := range s.Nodes {
		out += "machine " + n.Name
		if n.Object != nil {
			out += " node=" + n.Object.Name + "@" + n.Object.ResourceVersion
		}
		if n.Claim != nil {
			out += " claim=" + n.Claim.Name
		}
		for _, p := range n.Pods {
			out += " " + p.Name + "@" + p.ResourceVersion
		}
		out += "\n"
	}
	for _, p := range s.Pending {
		out += "pending " + p.Name + "\n"
	}
	return out
}

func TestAPodThatWasFoundIsUnseenUntilAWatchHasComeAsFar(t *testing.T) {
	pod := func(name, version string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: version}, Spec: corev1.PodSpec{NodeName: "a"}}
	}
	found := func(s *Store, name, version string) { s.Found(&snapshot.Pod{Pod: pod(name, version)}, noon) }
	at := noon
	unseen := func(s *Store) string {
		if p := s.Snapshot(at, nil).Unseen; p != nil {
			return p.Name
		}
		return ""
	}
	s := NewStore()
	s.Update(pod("old", "10"))
	for _, step := range []struct {
		does string
		do   func()
		want string
	}{
		{"what a watch passed is found", func() { found(s, "web", "9") }, ""},
		{"two are found", func() { found(s, "late", "12"); found(s, "web", "11") }, "late"},
		{"a watch tells of the earlier one", func() { s.Update(pod("web", "11")) }, "late"},
		{"it tells of the end of another", func() { s.Delete(pod("web", "13")) }, ""},
		{"one is found that is never told of", func() { found(s, "lost", "14") }, "lost"},
		{"a while later", func() { at = noon.Add(unseenFor) }, ""},
	} {
		if step.do(); unseen(s) != step.want {
			t.Errorf("%s: unseen is %q instead of %q", step.does, unseen(s), step.want)
		}
	}
}

func TestClaimsAndNodesAreOneMachineWhereTheirProviderIDsSaySo(t *testing.T) {
	ofPool := testNode("shadow", 1, "")
	ofPool.Labels = map[string]string{karpv1.NodePoolLabelKey: "default"}
	for name, test := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"joined by provider ID": {
			[]client.Object{testClaim("c", 1, "p1", ""), testNode("n", 1, "p1")},
			"machine n node=n@1 claim=c\n",
		},
		"a claim on its way stands alone": {
			[]client.Object{testClaim("c", 1, "", ""), testNode("n", 1, "p1")},
			"machine c claim=c\nmachine n node=n@1\n",
		},
		"joined by name while the Node has no provider ID": {
			[]client.Object{testClaim("c", 1, "p1", "n"), testNode("n", 1, "")},
			"machine n node=n@1 claim=c\n",
		},
		"a name that was used again is another machine": {
			[]client.Object{testClaim("c", 1, "p1", "n"), testNode("n", 1, "p2")},
			"machine c claim=c\nmachine n node=n@1\n",
		},
		"of two Nodes with one provider ID the named one is the claim's": {
			[]client.Object{testClaim("c", 1, "p1", "n2"), testNode("n1", 1, "p1"), testNode("n2", 1, "p1")},
			"machine n1 node=n1@1\nmachine n2 node=n2@1 claim=c\n",
		},
		"the Node of an initialized claim is lost, whatever else has its provider ID": {
			[]client.Object{initialized(testClaim("c", 1, "p1", "n2")), testNode("n1", 1, "p1")},
			"machine c claim=c\nmachine n1 node=n1@1\n",
		},
		"of two claims with one provider ID the first has the Node": {
			[]client.Object{testClaim("c1", 1, "p1", ""), testClaim("c2", 1, "p1", ""), testNode("n", 1, "p1")},
			"machine c2 claim=c2\nmachine n node=n@1 claim=c1\n",
		},
		"a Node of a pool without provider ID is left to its claim": {
			[]client.Object{testClaim("c", 1, "", ""), ofPool},
			"machine c claim=c\n",
		},
		"pods are on the machine that they are bound to": {
			[]client.Object{testPod("b", 1, "n"), testPod("a", 1, "n"), testPod("w", 1, ""), testNode("n", 1, "p1")},
			"machine n node=n@1 a@1 b@1\npending w\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewStore()
			for _, o := range test.objects {
				s.Update(o)
			}
			if got := picture(s.Snapshot(noon, nil)); got != test.want {
				t.Errorf("got:\n%swant:\n%s", got, test.want)
			}
		})
	}
}

func TestWhatTheStoreHasHeardOf(t *testing.T) {
	s, before, now, later := NewStore(), testPod("web", 1, ""), testPod("web", 2, ""), testPod("web", 3, "")
	if s.Has(now) {
		t.Error("before it came")
	}
	if s.Update(now); !s.Has(before) || !s.Has(now) || s.Has(later) {
		t.Errorf("a state before: %t, that state: %t, a later one: %t", s.Has(before), s.Has(now), s.Has(later))
	}
	if s.Delete(now); s.Has(now) {
		t.Error("after it has gone")
	}
}

func TestAnOlderStateNeverReplacesANewerOne(t *testing.T) {
	s := NewStore()
	created := testClaim("c", 5, "", "")
	s.Update(created)
	if picture(s.Snapshot(noon, nil)) != "machine c claim=c\n" {
		t.Fatal("a claim is in the snapshot as soon as it is created")
	}
	s.Update(testClaim("c", 9, "p9", ""))
	s.Update(testClaim("c", 7, "p7", ""))
	if got, _ := s.NodeClaim("c"); got.Status.ProviderID != "p9" {
		t.Errorf("provider ID %q after an old event, want p9", got.Status.ProviderID)
	}
	s.Delete(testClaim("c", 11, "p9", ""))
	s.Update(testClaim("c", 10, "p9", ""))
	if got := picture(s.Snapshot(noon, nil)); got != "" {
		t.Errorf("an answer that came after the deletion brought back:\n%s", got)
	}
	again := testClaim("c", 20, "", "")
	again.UID = "another"
	s.Update(again)
	s.Delete(testClaim("c", 12, "p9", ""))
	if got := picture(s.Snapshot(noon, nil)); got != "machine c claim=c\n" {
		t.Errorf("the deletion of a former claim of the name took the new one:\n%s", got)
	}
}

// TestTheOrderOfEventsDoesNotMatter applies a random history once in order with
// snapshots in between, and once as its end state in random order.
func TestTheOrderOfEventsDoesNotMatter(t *testing.T) {
	for seed := range int64(200) {
		random := rand.New(rand.NewSource(seed))
		live, end := NewStore(), map[string]client.Object{}
		for version := 1; version <= 60; version++ {
			o := randomObject(random, version)
			k := fmt.Sprintf("%T %s", o, o.GetName())
			if _, ok := end[k]; ok && random.Intn(4) == 0 {
				live.Delete(o)
				delete(end, k)
			} else {
				o.SetUID(types.UID(fmt.Sprint(o.GetUID(), version/20)))
				live.Update(o)
				end[k] = o
			}
			if random.Intn(5) == 0 {
				before := live.Snapshot(noon, nil)
				was := picture(before)
				live.Update(randomObject(random, 0)) // an event that is too old or not
				if picture(before) != was {
					t.Fatalf("seed %d: a snapshot changed after it was handed out", seed)
				}
			}
		}
		first := picture(live.Snapshot(noon, nil))
		if again := picture(live.Snapshot(noon, nil)); again != first {
			t.Fatalf("seed %d: two snapshots of one state differ:\n%s\n%s", seed, first, again)
		}
		fresh := NewStore()
		objects := make([]client.Object, 0, len(live.objects))
		for _, o := range live.objects {
			objects = append(objects, o)
		}
		random.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
		for _, o := range objects {
			fresh.Update(o)
		}
		if got := picture(fresh.Snapshot(noon, nil)); got != first {
			t.Fatalf("seed %d: built anew:\n%s\nkept up to date:\n%s", seed, got, first)
		}
	}
}

func randomObject(r *rand.Rand, version int) client.Object {
	provider := []string{"", "p1", "p2", "p3"}[r.Intn(4)]
	node := []string{"", "n1", "n2", "n3"}[r.Intn(4)]
	switch r.Intn(3) {
	case 0:
		return testClaim(fmt.Sprint("c", r.Intn(4)), version, provider, node)
	case 1:
		return testNode(fmt.Sprint("n", r.Intn(4)), version, provider)
	}
	return testPod(fmt.Sprint("pod", r.Intn(6)), version, node)
}

func TestASnapshotKeepsItsVolumesWhenTheStoreGoesOn(t *testing.T) {
	s := NewStore()
	attachment := func(name string, version int) *storagev1.VolumeAttachment {
		return &storagev1.VolumeAttachment{ObjectMeta: meta(name, version), Spec: storagev1.VolumeAttachmentSpec{NodeName: "n"}}
	}
	s.Update(attachment("b", 1))
	s.Update(&corev1.PersistentVolume{ObjectMeta: meta("pv", 1)})
	before := s.Snapshot(noon, nil)
	s.Update(attachment("a", 2))
	s.Delete(&corev1.PersistentVolume{ObjectMeta: meta("pv", 3)})
	if len(before.Volumes.Attachments["n"]) != 1 || len(before.Volumes.Volumes) != 1 {
		t.Error("the snapshot changed")
	}
	after := s.Snapshot(noon, nil).Volumes
	if a := after.Attachments["n"]; len(a) != 2 || a[0].Name != "a" || len(after.Volumes) != 0 {
		t.Errorf("the new snapshot has %v and %v", after.Attachments, after.Volumes)
	}
	s.Delete(attachment("a", 4))
	s.Delete(attachment("b", 5))
	if left := s.Snapshot(noon, nil).Volumes.Attachments; len(left) != 0 {
		t.Errorf("attachments left: %v", left)
	}
}

func TestARefusalLapses(t *testing.T) {
	s := NewStore()
	k := catalog.Key{Type: "m5.large", Zone: "a", CapacityType: catalog.Spot}
	s.Refuse(k, noon.Add(3*time.Minute))
	s.Refuse(k, noon.Add(time.Minute))
	if !s.Snapshot(noon.Add(2*time.Minute), nil).Refused(k) {
		t.Error("a later, shorter refusal cut the earlier one short")
	}
	if got := s.Snapshot(noon.Add(3*time.Minute), nil).Unavailable; len(got) != 0 {
		t.Errorf("still refused: %v", got)
	}
}

func TestMachinesThatDidNotChangeAreSharedBetweenSnapshots(t *testing.T) {
	s := NewStore()
	for i := range 5 {
		s.Update(testNode(fmt.Sprint("n", i), 1, fmt.Sprint("p", i)))
		s.Update(testPod(fmt.Sprint("pod", i), 1, fmt.Sprint("n", i)))
	}
	a := s.Snapshot(noon, nil)
	s.Update(testPod("pod3", 2, "n3"))
	b := s.Snapshot(noon, nil)
	for i := range a.Nodes {
		if same := a.Nodes[i] == b.Nodes[i]; same != (i != 3) {
			t.Errorf("machine %d shared: %v", i, same)
		}
	}
}

// world fills a store with machines and as many pods on each.
func world(machines, podsEach int) *Store {
	s := NewStore()
	for i := range machines {
		s.Update(testClaim(fmt.Sprint("c", i), 1, fmt.Sprint("p", i), fmt.Sprint("n", i)))
		s.Update(testNode(fmt.Sprint("n", i), 1, fmt.Sprint("p", i)))
		for j := range podsEach {
			s.Update(testPod(fmt.Sprint("pod", i, "-", j), 1, fmt.Sprint("n", i)))
		}
	}
	return s
}

// BenchmarkSnapshot is a snapshot of 2,000 machines with 30,000 pods after one
// pod changed.
func BenchmarkSnapshot(b *testing.B) {
	s := world(2000, 15)
	s.Snapshot(noon, nil)
	for i := 0; b.Loop(); i++ {
		s.Update(testPod(fmt.Sprint("pod", i%2000, "-", 3), i+2, fmt.Sprint("n", i%2000)))
		s.Snapshot(noon, nil)
	}
}

// BenchmarkUpdate is the change of one pod among 30,000.
func BenchmarkUpdate(b *testing.B) {
	s := world(2000, 15)
	pods := make([]*corev1.Pod, 2000)
	for i := range pods {
		pods[i] = testPod(fmt.Sprint("pod", i, "-", 3), 2, fmt.Sprint("n", i))
	}
	version := 2
	for i := 0; b.Loop(); i++ {
		if i%2000 == 0 {
			version++
		}
		p := *pods[i%2000]
		p.ResourceVersion = strconv.Itoa(version)
		s.Update(&p)
	}
}

func TestSnapshotsAreConsistentWhileTheStoreChanges(t *testing.T) {
	s := NewStore()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for version := 1; version <= 300; version++ {
			n := fmt.Sprint("n", version%7)
			s.Update(testNode(n, version, "p"+n))
			s.Update(testClaim("c"+n, version, "p"+n, n))
			s.Update(testPod("pod"+n, version, n))
			if version%5 == 0 {
				s.Delete(testPod("pod"+n, version, n))
			}
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		seen := map[string]bool{}
		for _, n := range s.Snapshot(noon, nil).Nodes {
			for _, p := range n.Pods {
				if p.Spec.NodeName != n.Name || seen[p.Name] {
					t.Fatalf("pod %s of %s is on %s", p.Name, p.Spec.NodeName, n.Name)
				}
				seen[p.Name] = true
			}
		}
	}
}

// The latest plan knows the pods that it has decided about as long as they wait; one of the
// same name that comes later is another.
func TestAPlanKnowsPodsUntilTheyWaitNoLonger(t *testing.T) {
	name := types.NamespacedName{Namespace: "default", Name: "web"}
	for what, change := range map[string]func(*Store, *corev1.Pod){
		"it is bound": func(s *Store, p *corev1.Pod) { p.Spec.NodeName = "n"; s.Update(p) },
		"it is gone":  func(s *Store, p *corev1.Pod) { s.Delete(p) },
		"another has its name": func(s *Store, p *corev1.Pod) {
			p.UID = "another"
			s.Update(p)
		},
	} {
		s := NewStore()
		pod := testPod("web", 1, "")
		s.Update(pod)
		if knows(s, name) {
			t.Error("known before there is a plan")
		}
		s.Nominate(map[types.NamespacedName]string{name: ""}, nil)
		s.Update(pod.DeepCopy())
		if !knows(s, name) || !s.Waiting() {
			t.Error("it waits, and is not known")
		}
		later := pod.DeepCopy()
		later.ResourceVersion = "2"
		change(s, later)
		if knows(s, name) {
			t.Errorf("%s, and it is known", what)
		}
	}
}

// A plan for pods that are to come is not made anew as they do.
func TestAPodTakesThePlaceOfOneThatWasExpected(t *testing.T) {
	yes, replicas := true, int32(4)
	rs := &appsv1.ReplicaSet{ObjectMeta: meta("web", 1), Spec: appsv1.ReplicaSetSpec{Replicas: &replicas}}
	s := NewStore()
	s.Update(rs)
	come := func(name string, version int) types.NamespacedName {
		p := testPod(name, version, "")
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: rs.UID, Controller: &yes}}
		p.CreationTimestamp = metav1.NewTime(noon)
		s.Update(p)
		return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	}
	first := come("web-1", 2)
	s.Nominate(map[types.NamespacedName]string{first: "m-1"}, map[types.UID][]string{rs.UID: {"m-1", "m-2"}})
	second := come("web-2", 3)
	if !knows(s, second) || len(s.Planned("m-1")) != 2 {
		t.Errorf("the second pod is not in the place of one that was expected: %v", s.Snapshot(noon, nil).Nominated)
	}
	copied := types.NamespacedName{Namespace: first.Namespace, Name: snapshot.CopyName(s.Snapshot(noon, nil).Expected[0].Like, 0)}
	if got := s.Snapshot(noon, nil).Nominated[copied]; got != "m-2" {
		t.Errorf("the pod that is still to come has its place on %q, want m-2", got)
	}
	if !knows(s, come("web-3", 4)) || knows(s, come("web-4", 5)) {
		t.Error("the plan knows more pods or fewer than it expected")
	}
}

func TestPodsThatControllersAreAboutToMakeAreExpected(t *testing.T) {
	yes, replicas := true, int32(5)
	rs := &appsv1.ReplicaSet{ObjectMeta: meta("web", 1), Spec: appsv1.ReplicaSetSpec{Replicas: &replicas}}
	pod := func(name string, version int) *corev1.Pod {
		p := testPod(name, version, "")
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: rs.UID, Controller: &yes}}
		p.CreationTimestamp = metav1.NewTime(noon.Add(-2 * time.Second))
		return p
	}
	s := NewStore()
	s.Update(rs)
	s.Update(pod("web-1", 2))
	s.Update(pod("web-2", 3))
	expect := func(when string, now time.Time, want int) {
		t.Helper()
		got := 0
		for _, e := range s.Snapshot(now, nil).Expected {
			got += e.Count
		}
		if got != want {
			t.Errorf("%s: %d pods are expected, want %d", when, got, want)
		}
	}
	expect("two of five are there", noon, 3)
	expect("none has come for long", noon.Add(creating), 0)
	leaving := pod("web-2", 4)
	leaving.DeletionTimestamp = &metav1.Time{Time: noon}
	s.Update(leaving)
	expect("one is leaving", noon, 4)
	s.Delete(leaving)
	expect("it has left", noon, 4)
	refused := rs.DeepCopy()
	refused.ResourceVersion = "5"
	refused.Status.Conditions = []appsv1.ReplicaSetCondition{{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue}}
	s.Update(refused)
	expect("the API server refuses further pods", noon, 0)
}

func TestAJobIsExpectedToRunAsManyPodsAsItMay(t *testing.T) {
	n := func(i int32) *int32 { return &i }
	yes := true
	in := func(kinds ...batchv1.JobConditionType) batchv1.JobStatus {
		s := batchv1.JobStatus{Succeeded: 2}
		for _, kind := range kinds {
			s.Conditions = append(s.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue})
		}
		return s
	}
	half := batchv1.JobSpec{Parallelism: n(8), Completions: n(5)}
	for _, c := range []struct {
		job  batchv1.Job
		want int
	}{
		{batchv1.Job{}, 1},
		{batchv1.Job{Spec: batchv1.JobSpec{Parallelism: n(4)}}, 4},
		{batchv1.Job{Spec: half, Status: in()}, 3},
		{batchv1.Job{Spec: batchv1.JobSpec{Parallelism: n(8), Suspend: &yes}}, 0},
		// No work is left in its queue.
		{batchv1.Job{Spec: batchv1.JobSpec{Parallelism: n(4)}, Status: in()}, 0},
		// It was suspended and is not any more, or its end is known.
		{batchv1.Job{Spec: half, Status: in(batchv1.JobSuspended)}, 3},
		{batchv1.Job{Spec: half, Status: in(batchv1.JobComplete)}, 0},
		{batchv1.Job{Spec: half, Status: in(batchv1.JobFailed)}, 0},
		{batchv1.Job{Spec: half, Status: in(batchv1.JobFailureTarget)}, 0},
		{batchv1.Job{Spec: half, Status: in(batchv1.JobSuccessCriteriaMet)}, 0},
	} {
		if got := WantedByJob(&c.job); got != c.want {
			t.Errorf("%+v, %+v: %d pods, want %d", c.job.Spec, c.job.Status, got, c.want)
		}
	}
}

func TestANodeKnowsWhosePodsEndedOnItByThemselves(t *testing.T) {
	s := NewStore()
	s.MarkSynced()
	s.Update(testNode("n", 1, "p"))
	ended := func(name string, phase corev1.PodPhase, change func(*corev1.Pod)) {
		p := testPod(name, 1, "n")
		s.Update(p)
		s.Snapshot(noon, nil)
		p = testPod(name, 2, "n")
		if p.Status.Phase = phase; change != nil {
			change(p)
		}
		s.Update(p)
		s.Delete(p)
	}
	ended("rejected", corev1.PodFailed, nil)
	ended("evicted", corev1.PodSucceeded, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: noon} })
	done := func(at time.Time) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(at)}}}}
		}
	}
	ended("under-pressure", corev1.PodFailed, func(p *corev1.Pod) {
		done(noon)(p)
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet}}
	})
	ended("done", corev1.PodSucceeded, done(noon.Add(-2*time.Minute)))
	ended("done", corev1.PodFailed, done(noon.Add(-time.Minute)))
	ended("done", corev1.PodSucceeded, done(noon.Add(-3*time.Minute)))
	if got := s.Snapshot(noon, nil).Nodes[0].Ended; len(got) != 1 || !got["Pod/default/done"].Equal(noon.Add(-time.Minute)) {
		t.Errorf("ended %v", got)
	}
	for i := range keptEnded {
		ended(fmt.Sprintf("bare-%d", i), corev1.PodSucceeded, done(noon.Add(time.Duration(i)*time.Second)))
	}
	if got := s.Snapshot(noon, nil).Nodes[0].Ended; len(got) != keptEnded || !got["Pod/default/done"].IsZero() {
		t.Errorf("%d workloads ended, the oldest among them: %v", len(got), got["Pod/default/done"])
	}
	s.Delete(testNode("n", 2, "p"))
	s.Snapshot(noon, nil)
	n := testNode("n", 3, "q")
	n.UID = "another"
	s.Update(n)
	if got := s.Snapshot(noon, nil).Nodes[0].Ended; len(got) != 0 {
		t.Errorf("ended on another Node of the name: %v", got)
	}
}

func knows(s *Store, pod types.NamespacedName) bool {
	_, known := s.Place(pod)
	return known
}
