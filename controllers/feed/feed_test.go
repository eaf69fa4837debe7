package feed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/controllers/interruption"
	"github.com/millwright-dev/millwright/controllers/loop/looptest"
	"github.com/millwright-dev/millwright/controllers/metrics"
	event "github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/interruption/ledger"
)

var ctx = context.Background()

// queue delivers batches of messages and takes down what becomes of them.
type queue struct {
	mu      sync.Mutex
	batches [][]cloud.Message
	settled []cloud.Message
	refuses error
}

func (q *queue) Receive(context.Context) ([]cloud.Message, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.batches) == 0 {
		return nil, nil
	}
	next := q.batches[0]
	q.batches = q.batches[1:]
	return next, nil
}

func (q *queue) Settle(_ context.Context, list []cloud.Message) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.settled = append(q.settled, list...)
	return q.refuses
}

func (q *queue) outcomes() string {
	var out []string
	for _, m := range q.settled {
		out = append(out, string(m.Outcome))
	}
	return strings.Join(out, " ")
}

// inspector lists and confirms what it is told.
type inspector struct {
	listed, confirmed []cloud.Event
	asked             []cloud.Event
	fails             error
}

func (i *inspector) Source() string                              { return "api" }
func (i *inspector) List(context.Context) ([]cloud.Event, error) { return i.listed, i.fails }
func (i *inspector) Confirm(_ context.Context, list []cloud.Event) ([]cloud.Event, error) {
	i.asked = append(i.asked, list...)
	return i.confirmed, i.fails
}

// world is a number of machines m0, m1, … in the pool general.
type world struct {
	*testing.T
	*looptest.Rig
	queue     queue
	inspector inspector
	registry  *prometheus.Registry
}

func newWorld(t *testing.T, machines int, rules ...v1alpha1.InterruptionRule) *world {
	np := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "general", UID: "pool"}}
	np.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: looptest.Class.Group, Kind: looptest.Class.Kind, Name: looptest.Class.Name}
	policy := &v1alpha1.NodePolicy{ObjectMeta: metav1.ObjectMeta{Name: "policy"}}
	policy.Spec.NodePools.Names = []string{"general"}
	policy.Spec.Interruption = &v1alpha1.Interruption{Rules: rules}
	objects := []client.Object{np, policy}
	for i := range machines {
		name := fmt.Sprintf("m%d", i)
		labels := map[string]string{karpv1.NodePoolLabelKey: "general", karpv1.NodeInitializedLabelKey: "true"}
		claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: labels, Finalizers: []string{karpv1.TerminationFinalizer}}}
		claim.Spec.NodeClassRef = np.Spec.Template.Spec.NodeClassRef
		claim.Status.ProviderID, claim.Status.NodeName = "aws:///a/"+name, name
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("n" + name), Labels: labels}}
		node.Spec.ProviderID = claim.Status.ProviderID
		objects = append(objects, claim, node)
	}
	w := &world{T: t, Rig: looptest.New(t, objects...)}
	w.start()
	return w
}

// start begins a process.
func (w *world) start() {
	w.Helper()
	w.Restart()
	w.registry = prometheus.NewRegistry()
	series, err := metrics.New(w.registry, metrics.Build{})
	w.Must(err)
	w.Metrics = series
	w.Announcements = cloud.Announcements{Queue: &w.queue, Inspector: &w.inspector, Every: time.Minute}
}

// receive delivers one batch.
func (w *world) receive(batch ...cloud.Message) error {
	w.queue.batches = append(w.queue.batches, batch)
	return New(w.Deps).Receive(ctx)
}

// answer does what is due about what is on record.
func (w *world) answer() {
	w.Helper()
	_, err := interruption.New(w.Deps, nil).Look(ctx)
	w.Must(err)
}

// record is what stands about a machine, as a process that begins now reads it.
func (w *world) record(name string) ledger.Record {
	w.Helper()
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if !w.Get(claim) {
		w.Fatalf("no claim %s", name)
	}
	return ledger.Read(claim.Annotations, w.Clock.Now())
}

// going counts the claims that are being deleted.
func (w *world) going() int {
	n := 0
	for _, c := range w.Claims() {
		if c.DeletionTimestamp != nil {
			n++
		}
	}
	return n
}

func spot(machine string) cloud.Event {
	return cloud.Event{ID: "spot-" + machine, Kind: event.Spot, Machine: machine, Source: "aws.ec2", Issued: looptest.Noon, NotBefore: looptest.Noon.Add(2 * time.Minute)}
}

func message(events ...cloud.Event) cloud.Message {
	return cloud.Message{Events: events, Sent: looptest.Noon.Add(-time.Minute)}
}

// counted is a series' value.
func (w *world) counted(name string, labels ...string) float64 {
	w.Helper()
	families, err := w.registry.Gather()
	w.Must(err)
	sum := 0.0
	for _, f := range families {
		for _, m := range f.Metric {
			values := map[string]bool{}
			for _, l := range m.Label {
				values[l.GetValue()] = true
			}
			matches := f.GetName() == name
			for _, l := range labels {
				matches = matches && values[l]
			}
			if matches {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

func TestAMessageIsForgottenOnlyWhenItIsOnRecord(t *testing.T) {
	w := newWorld(t, 2)
	refused := cloud.Message{Refusal: "Malformed"}
	w.Must(w.receive(
		message(spot("m0")), message(spot("m0")), message(spot("stranger")), early("stranger"),
		cloud.Message{}, refused, message(spot("stranger"), spot("m1")),
	))
	if got, want := w.queue.outcomes(), "Recorded Duplicate Stranger Stranger Irrelevant Refused Recorded"; got != want {
		t.Errorf("outcomes %s, want %s", got, want)
	}
	if len(w.record("m0")) != 1 || len(w.record("m1")) != 1 {
		t.Errorf("on record: %v, %v", w.record("m0"), w.record("m1"))
	}
	for _, tt := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"millwright_interruption_messages_total", []string{"Recorded"}, 2},
		{"millwright_interruption_messages_total", []string{"Refused", "Malformed"}, 1},
		{"karpenter_interruption_received_messages_total", []string{"spot_interrupted"}, 5},
		{"karpenter_interruption_received_messages_total", []string{"no_op"}, 2},
		{"karpenter_interruption_deleted_messages_total", nil, 6},
		{"millwright_interruption_queue_age_seconds", nil, 60},
	} {
		if got := w.counted(tt.name, tt.labels...); got != tt.want {
			t.Errorf("%s %v is %v, want %v", tt.name, tt.labels, got, tt.want)
		}
	}
}

// Without a dead-letter queue what does not count is delivered until it is too old for the queue.
func TestAMessageThatDoesNotCountIsCountedOnce(t *testing.T) {
	w := newWorld(t, 1)
	m := message()
	m.Refusal, m.Why = "Malformed", "no JSON"
	var said []string
	logged := log.IntoContext(ctx, funcr.New(func(_, args string) { said = append(said, args) }, funcr.Options{}))
	for range 3 {
		w.queue.batches = append(w.queue.batches, []cloud.Message{m})
		w.Must(New(w.Deps).Receive(logged))
		m.Again = true
	}
	if len(said) != 1 || !strings.Contains(said[0], "no JSON") {
		t.Errorf("the log says %q", said)
	}
	if got := w.counted("millwright_interruption_messages_total", "Refused", "Malformed"); got != 1 {
		t.Errorf("counted %v times", got)
	}
	if got := w.counted("karpenter_interruption_received_messages_total", "no_op"); got != 1 {
		t.Errorf("received %v times", got)
	}
	if got := w.counted("millwright_interruption_queue_age_seconds"); got != 0 {
		t.Errorf("the queue's age is %v s, although nothing in it is due", got)
	}
	late := message(spot("m0"))
	late.Again = true
	w.Must(w.receive(late))
	if got := w.counted("millwright_interruption_messages_total", "Recorded"); got != 1 {
		t.Errorf("one that counts, and is delivered again, is on record %v times", got)
	}
}

// early is a message of this moment.
func early(machine string) cloud.Message {
	m := message(spot(machine))
	m.Sent = looptest.Noon.Add(-time.Second)
	return m
}

func TestAMessageAboutAStrangerIsNotForgottenWhileItMayBeAboutAMachineThatIsBeingLaunched(t *testing.T) {
	w := newWorld(t, 1)
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "new", UID: "new"}}
	w.Must(w.Client.Create(ctx, claim))
	w.start()
	w.Must(w.receive(early("i-new"), message(spot("i-old"))))
	w.Get(claim)
	claim.Status.ProviderID = "aws:///a/i-new"
	w.Must(w.Client.Status().Update(ctx, claim))
	w.start()
	w.Must(w.receive(early("i-new"), early("i-old")))
	if got, want := w.queue.outcomes(), "Later Stranger Recorded Stranger"; got != want {
		t.Errorf("outcomes %s, want %s", got, want)
	}
}

func TestABatchAboutOneMachineIsOneWrite(t *testing.T) {
	w := newWorld(t, 2)
	w.Must(w.receive(message(spot("m0")), message(spot("m0"), spot("m1")), message(cloud.Event{ID: "r", Kind: event.Rebalance, Machine: "m0", Issued: looptest.Noon})))
	if got, want := w.queue.outcomes(), "Recorded Recorded Recorded"; got != want || w.API.Writes != 2 || len(w.record("m0")) != 2 {
		t.Errorf("outcomes %s, want %s; %d writes; on record %v", got, want, w.API.Writes, w.record("m0"))
	}
}

func TestWhatCannotBeRecordedIsDeliveredAgain(t *testing.T) {
	w := newWorld(t, 1)
	w.API.Before = func(string, client.Object) error { return errors.New("the API server is down") }
	w.Must(w.receive(message(spot("m0"))))
	if got := w.queue.outcomes(); got != "Later" || len(w.record("m0")) > 0 {
		t.Errorf("outcome %s, on record %v", got, w.record("m0"))
	}
	w.API.Before = nil
	w.Must(w.receive(message(spot("m0"))))
	if len(w.record("m0")) != 1 {
		t.Errorf("on record %v", w.record("m0"))
	}
}

// ticking lets waits for the clock end, until the test does.
func (w *world) ticking() {
	ended := w.Context().Done()
	go func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(time.Millisecond):
				if w.Clock.HasWaiters() {
					w.Clock.Step(time.Millisecond)
				}
			}
		}
	}()
}

func TestAConflictIsNoReasonToWaitForAnotherDelivery(t *testing.T) {
	w := newWorld(t, 1)
	w.ticking()
	others := 2
	w.API.Before = func(_ string, obj client.Object) error {
		if others--; others >= 0 {
			newest := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: obj.GetName()}}
			w.Get(newest)
			newest.Annotations = map[string]string{"others": strconv.Itoa(others)}
			w.Must(w.Client.Update(w.Context(), newest))
		}
		return nil
	}
	w.Must(w.receive(message(spot("m0"))))
	if got := w.queue.outcomes(); got != "Recorded" || others != -1 {
		t.Errorf("outcome %s, %d conflicts left", got, others)
	}
}

// TestAProcessThatEndsAtAnyWriteActsOnce cuts the process off around the write of
// the record, of the deletion, and before the message is settled.
func TestAProcessThatEndsAtAnyWriteActsOnce(t *testing.T) {
	for cut := range 8 {
		w := newWorld(t, 2)
		if cut > 0 {
			w.API.CutAt, w.API.Late = (cut+1)/2, cut%2 == 0
			w.queue.refuses = errors.New("the process is gone")
			_ = w.receive(message(spot("m0")))
			_, _ = interruption.New(w.Deps, nil).Look(ctx)
			w.queue.refuses = nil
		}
		for range 3 { // restarted, and the message delivered again
			w.start()
			w.Must(w.receive(message(spot("m0"))))
			w.answer()
		}
		if w.going() != 1 || len(w.record("m0")) != 1 || len(w.record("m1")) != 0 {
			t.Errorf("cut %d: %d claims go, on record %v and %v", cut, w.going(), w.record("m0"), w.record("m1"))
		}
	}
}

func TestAFloodWithDuplicatesIsActedUponOncePerMachine(t *testing.T) {
	const machines, copies = 20, 50
	w := newWorld(t, machines)
	w.ticking()
	var all []cloud.Message
	for i := range machines {
		for range copies {
			all = append(all, message(spot(fmt.Sprintf("m%d", i))))
		}
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i := 0; i < len(all); i += 10 {
		w.queue.batches = append(w.queue.batches, all[i:i+10])
	}
	f := New(w.Deps)
	var work sync.WaitGroup
	for range receivers {
		work.Go(func() {
			for range len(all) / 10 / receivers {
				if err := f.Receive(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	if n := strings.Count(w.queue.outcomes(), "Recorded"); n != machines {
		t.Errorf("%d messages change the record of %d machines: %s", n, machines, w.queue.outcomes())
	}
	w.answer()
	w.answer()
	acted := w.counted("karpenter_nodeclaims_disrupted_total", "spot_interrupted")
	if w.going() != machines || acted != machines {
		t.Errorf("%d of %d claims go, %v actions", w.going(), machines, acted)
	}
}

func TestWhatTheAPIListsIsOnRecordUntilItIsListedNoLonger(t *testing.T) {
	w := newWorld(t, 2)
	stop := cloud.Event{ID: "e1", Kind: event.Maintenance, Code: event.Stop, Machine: "m1", Confirmed: true, Source: "api", NotBefore: looptest.Noon.Add(time.Hour)}
	other := stop
	other.Machine = "stranger"
	w.inspector.listed = []cloud.Event{stop, other}
	f := New(w.Deps)
	w.Must(f.Inspect(ctx))
	w.Must(f.Inspect(ctx))
	if r := w.record("m1"); len(r) != 1 || r[0].Over() || w.API.Writes != 1 {
		t.Errorf("on record %v after %d writes", r, w.API.Writes)
	}
	w.inspector.fails = errors.New("not allowed")
	if err := f.Inspect(ctx); err == nil || w.record("m1")[0].Over() {
		t.Errorf("nothing was listed: %v, %v", err, w.record("m1"))
	}
	w.inspector.fails, w.inspector.listed = nil, []cloud.Event{other}
	w.Must(f.Inspect(ctx))
	if r := w.record("m1"); len(r) != 1 || !r[0].Over() {
		t.Errorf("on record %v", r)
	}
}

func TestAPolicyThatWantsConfirmationGetsIt(t *testing.T) {
	w := newWorld(t, 2, v1alpha1.InterruptionRule{
		Events: []v1alpha1.EventKind{"SpotInterruption"}, Action: "Drain", Unconfirmed: v1alpha1.UnconfirmedWait,
	})
	reboot := cloud.Event{ID: "r", Kind: event.Maintenance, Code: event.Reboot, Machine: "m1", Issued: looptest.Noon, NotBefore: looptest.Noon.Add(time.Hour)}
	w.Must(w.receive(message(spot("m0")), message(spot("m1")), message(reboot)))
	look := func() {
		t.Helper()
		w.Must(New(w.Deps).Confirm(ctx))
		w.answer()
	}
	look()
	if len(w.inspector.asked) != 2 || w.going() != 1 { // m1, for the reboot
		t.Fatalf("asked about %v, %d go", w.inspector.asked, w.going())
	}
	w.inspector.confirmed = []cloud.Event{spot("m0")}
	look()
	if r := w.record("m0"); !r[0].Confirmed {
		t.Fatalf("on record %v", r)
	}
	look()
	if w.going() != 2 {
		t.Errorf("%d go", w.going())
	}
}

// attached attaches a volume of EBS to a machine.
func (w *world) attached(pv, volume, machine string) {
	w.Helper()
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: pv, UID: types.UID(pv)}}
	v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: volume}
	a := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: pv}}
	a.Spec.NodeName, a.Spec.Source.PersistentVolumeName = machine, &pv
	w.Must(errors.Join(w.Client.Create(ctx, v), w.Client.Create(ctx, a)))
	w.start()
}

func TestAVolumeIsTheMatterOfTheMachineThatItIsAttachedToAndIsToldOnItself(t *testing.T) {
	w := newWorld(t, 2)
	w.attached("pv-1", "vol-1", "m1")
	about := func(volume string) cloud.Message {
		return message(cloud.Event{ID: "arn", Kind: event.VolumeImpaired, Volume: volume, Source: "aws.health", Issued: looptest.Noon, Text: "degraded"})
	}
	w.Must(w.receive(about("vol-1"), about("vol-1"), about("vol-2")))
	if got, want := w.queue.outcomes(), "Recorded Duplicate Stranger"; got != want {
		t.Errorf("outcomes %s, want %s", got, want)
	}
	if r := w.record("m1"); len(r) != 1 || r[0].PersistentVolume != "pv-1" || len(w.record("m0")) > 0 {
		t.Errorf("on record %v, and of the other %v", r, w.record("m0"))
	}
	w.answer()
	for _, object := range []string{"PersistentVolume/pv-1", "NodeClaim/m1", "Node/m1"} {
		if !strings.Contains(strings.Join(w.Events.List, "\n"), object) {
			t.Errorf("nothing is told on %s: %v", object, w.Events.List)
		}
	}
	if w.going() > 0 {
		t.Errorf("%d machines go", w.going())
	}
}
