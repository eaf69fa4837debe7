package apply_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/controllers/apply"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
)

var ctx = context.Background()

func TestAWriteSendsOnlyWhatChangedAndIsInTheStoreAtOnce(t *testing.T) {
	r := looptest.New(t)
	c := r.NewClaim("c")
	r.Must(r.Writer.CreateClaim(ctx, c, untold))
	if _, ok := r.Store.NodeClaim("c"); !ok {
		t.Fatal("a created claim is not in the store")
	}
	r.API.Writes = 0
	same, err := r.Writer.Claim(ctx, c, func(*karpv1.NodeClaim) {})
	r.Must(err)
	if r.API.Writes != 0 || same.Name != "c" {
		t.Errorf("%d writes for no change", r.API.Writes)
	}
	after, err := r.Writer.Claim(ctx, c, func(c *karpv1.NodeClaim) {
		c.Labels["a"] = "b"
		c.Status.ProviderID = "p"
	})
	r.Must(err)
	if r.API.Writes != 2 || after.Status.ProviderID != "p" || after.Labels["a"] != "b" {
		t.Errorf("%d writes, answer %+v", r.API.Writes, after)
	}
	if c.Labels["a"] != "" || c.Status.ProviderID != "" {
		t.Error("what was passed in changed")
	}
	if got, _ := r.Store.NodeClaim("c"); got.Status.ProviderID != "p" || got.Labels["a"] != "b" {
		t.Errorf("the store has %+v", got)
	}
}

func untold(*karpv1.NodeClaim) {}

func TestOfAClaimItIsToldOnceThatItExists(t *testing.T) {
	lost := errors.New("connection reset")
	for name, happens := range map[string]bool{"although the answer is lost": true, "at the second attempt": false} {
		t.Run(name, func(t *testing.T) {
			r := looptest.New(t)
			r.API.Before = func(string, client.Object) error {
				r.API.Before = nil
				if happens {
					r.Must(r.API.API.Create(ctx, r.NewClaim("c")))
				}
				return lost
			}
			var told []types.UID
			create := func() error {
				return r.Writer.CreateClaim(ctx, r.NewClaim("c"), func(c *karpv1.NodeClaim) { told = append(told, c.UID) })
			}
			if err := create(); !errors.Is(err, lost) || len(told) > 0 {
				t.Fatalf("error %v, told of %v", err, told)
			}
			if !happens {
				r.Must(create())
			}
			for range 2 {
				r.Must(r.Writer.Settle(ctx, r.Client))
			}
			if want := []types.UID{"uid-c"}; !slices.Equal(told, want) {
				t.Errorf("told of %v, want %v", told, want)
			}
		})
	}
}

// late answers when the caller does not wait any more.
type late struct {
	apply.API
	end context.CancelFunc
}

func (l late) Create(ctx context.Context, o client.Object) error {
	err := l.API.Create(ctx, o)
	l.end()
	return errors.Join(err, ctx.Err())
}

func TestAWriteThatHasBegunIsEndedAndNoneBeginsInAProcessThatEnds(t *testing.T) {
	r := looptest.New(t)
	ending, end := context.WithCancel(ctx)
	r.API.API = late{r.API.API, end}
	told := 0
	tell := func(*karpv1.NodeClaim) { told++ }
	if err := r.Writer.CreateClaim(ending, r.NewClaim("a"), tell); err != nil || told != 1 {
		t.Errorf("error %v, told %d times", err, told)
	}
	if err := r.Writer.CreateClaim(ending, r.NewClaim("b"), tell); !errors.Is(err, context.Canceled) || len(r.Claims()) != 1 {
		t.Errorf("error %v, %d claims", err, len(r.Claims()))
	}
}

func TestAWriteOnAnOldStateIsRefused(t *testing.T) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "cni", Effect: "NoExecute"}}}}
	r := looptest.New(t, n)
	r.Get(n)
	old := n.DeepCopy()
	n.Spec.Taints = nil
	r.Must(r.Client.Update(ctx, n))
	_, err := r.Writer.Node(ctx, old, func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "karpenter.sh/disrupted", Effect: "NoSchedule"})
	})
	if !apierrors.IsConflict(err) {
		t.Errorf("error %v", err)
	}
	r.Get(n)
	if len(n.Spec.Taints) != 0 {
		t.Errorf("taints %v", n.Spec.Taints)
	}
}

// Where the watch lags behind, a loop reads for a while what has been written to already.
func TestAStateThatIsKnownToBeSupersededIsNotWrittenTo(t *testing.T) {
	r := looptest.New(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	old := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	r.Get(old)
	label := func(n *corev1.Node) { n.Labels = map[string]string{"team": "blue"} }
	sent := 0
	r.API.Before = func(string, client.Object) error { sent++; return nil }
	newest, err := r.Writer.Node(ctx, old, label)
	r.Must(err)
	if _, err := r.Writer.Node(ctx, old, label); !apierrors.IsConflict(err) || sent != 1 {
		t.Errorf("error %v after %d requests", err, sent)
	}
	if _, err := r.Writer.Node(ctx, newest, func(n *corev1.Node) { n.Labels["team"] = "red" }); err != nil || sent != 2 {
		t.Errorf("error %v after %d requests", err, sent)
	}
}

func TestTheLastFinalizerTakesTheClaimOutOfTheStore(t *testing.T) {
	r := looptest.New(t)
	c := r.NewClaim("c")
	c.Finalizers = []string{"karpenter.sh/termination"}
	r.Must(r.Writer.CreateClaim(ctx, c, untold))
	_, err := r.Writer.Delete(ctx, c)
	r.Must(err)
	r.Get(c)
	_, err = r.Writer.Claim(ctx, c, func(c *karpv1.NodeClaim) { c.Finalizers = nil })
	r.Must(err)
	if _, ok := r.Store.NodeClaim("c"); ok {
		t.Error("the store still has it")
	}
}

func TestADeletionSparesAnotherObjectOfTheSameName(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "uid-n"}}
	r := looptest.New(t, node)
	claim := r.NewClaim("c")
	r.Must(r.Writer.CreateClaim(ctx, claim, untold))
	for _, o := range []client.Object{node, claim} {
		var sent client.DeleteOptions
		r.API.API = deletions{apply.ForClient(r.Client), &sent}
		_, err := r.Writer.Delete(ctx, o)
		r.Must(err)
		if sent.Preconditions == nil || *sent.Preconditions.UID != o.GetUID() {
			t.Errorf("%T: preconditions %v", o, sent.Preconditions)
		}
	}
}

func TestOnlyTheFirstDeletionCounts(t *testing.T) {
	r := looptest.New(t)
	c := r.NewClaim("c")
	c.Finalizers = []string{"karpenter.sh/termination"}
	r.Must(r.Writer.CreateClaim(ctx, c, untold))
	for _, want := range []bool{true, false} { // a cache may show it as it was, twice
		if first, err := r.Writer.Delete(ctx, c); err != nil || first != want {
			t.Errorf("first %v, want %v; error %v", first, want, err)
		}
	}
	other := r.NewClaim("gone")
	if first, err := r.Writer.Delete(ctx, other); err != nil || first {
		t.Errorf("a claim that is gone: first %v, error %v", first, err)
	}
}

// deletions records the options of deletions.
type deletions struct {
	apply.API
	last *client.DeleteOptions
}

func (d deletions) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	d.last.ApplyOptions(opts)
	return d.API.Delete(ctx, o, opts...)
}

func TestAForcedDeletionLeavesAtLeastOneSecond(t *testing.T) {
	evicted := []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "u"}, Status: corev1.PodStatus{Conditions: evicted}}
	r := looptest.New(t, p)
	var sent client.DeleteOptions
	r.API.API = deletions{r.API.API, &sent}
	for grace, want := range map[time.Duration]int64{-time.Hour: 1, 500 * time.Millisecond: 1, 90 * time.Second: 90} {
		if _, err := r.Writer.DeletePod(ctx, p, grace); err != nil {
			t.Fatal(err)
		}
		if *sent.GracePeriodSeconds != want {
			t.Errorf("grace %v: %d seconds sent, want %d", grace, *sent.GracePeriodSeconds, want)
		}
	}
}

// statuses records the pods whose status was changed.
type statuses struct {
	apply.API
	changed []corev1.Pod
	err     error
}

func (s *statuses) PatchStatus(ctx context.Context, o client.Object, p client.Patch) error {
	if s.err != nil {
		return s.err
	}
	err := s.API.PatchStatus(ctx, o, p)
	s.changed = append(s.changed, *o.(*corev1.Pod))
	return err
}

// As after an eviction, the podFailurePolicy of a Job can tell that the pod did not fail.
func TestAPodThatIsDeletedAtADeadlineSaysSoFirst(t *testing.T) {
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue}
	target := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}
	for name, tc := range map[string]struct {
		has     []corev1.PodCondition
		answer  error
		changed int
		deleted bool
	}{
		"that runs":                 {has: []corev1.PodCondition{ready}, changed: 1, deleted: true},
		"that was evicted before":   {has: []corev1.PodCondition{ready, target}, deleted: true},
		"whose status is not ours":  {answer: apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", nil), deleted: true},
		"that is gone":              {answer: apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p", nil)},
		"while nothing is answered": {answer: errors.New("connection reset")},
	} {
		t.Run(name, func(t *testing.T) {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "u"}, Status: corev1.PodStatus{Conditions: tc.has}}
			r := looptest.New(t, p)
			s := &statuses{API: r.API.API, err: tc.answer}
			r.API.API = s
			deleted, err := r.Writer.DeletePod(ctx, p, time.Second)
			if deleted != tc.deleted || (err != nil) != (name == "while nothing is answered") || len(s.changed) != tc.changed || r.Get(p.DeepCopy()) == tc.deleted {
				t.Errorf("deleted %v, error %v, %d changes", deleted, err, len(s.changed))
			}
			for _, p := range s.changed {
				if got := p.Status.Conditions; len(got) != 2 || !slices.Contains(got, ready) || got[0].Type != corev1.DisruptionTarget && got[1].Type != corev1.DisruptionTarget {
					t.Errorf("conditions %+v", got)
				}
			}
		})
	}
}

func TestAnEventIsNotRepeatedWithinItsWindow(t *testing.T) {
	r := looptest.New(t)
	a, b := r.NewClaim("a"), r.NewClaim("b")
	say := func(o client.Object, message string, window time.Duration, dedupe ...string) {
		r.Writer.Event(apply.Event{Object: o, Reason: "R", Message: message, Window: window, Dedupe: dedupe})
	}
	say(a, "1", 0)
	say(a, "hidden: the message does not tell events apart", 0)
	say(b, "2", 0)
	say(a, "3", 0, "other")
	r.Clock.Step(time.Minute)
	say(a, "hidden", 0)
	r.Clock.Step(time.Minute)
	say(a, "4", 15*time.Minute)
	r.Clock.Step(14 * time.Minute)
	say(a, "hidden", 15*time.Minute)
	var got []string
	for _, e := range r.Events.List {
		got = append(got, e[strings.LastIndex(e, " ")+1:])
	}
	if want := []string{"1", "2", "3", "4"}; !slices.Equal(got, want) {
		t.Errorf("published %v", r.Events.List)
	}
}
