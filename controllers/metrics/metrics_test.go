package metrics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/engine/interruption"
)

// exported lists the series of a registry as name{labels}, and their values.
func exported(t *testing.T, r *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			slices.Sort(labels)
			v := m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetHistogram().GetSampleSum() + m.GetSummary().GetSampleSum()
			out[fmt.Sprintf("%s{%s}", f.GetName(), strings.Join(labels, ","))] = v
		}
	}
	return out
}

var noon = time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)

func fill(m *Metrics) {
	grace := time.Minute
	m.ClaimCreated(Provisioned, "p", false)
	m.ClaimTerminated("p", "spot", "a", 2*time.Second)
	m.ClaimDisrupted(Disruption{Reason: Empty, Pool: "p", CapacityType: "spot", ConsolidationPolicy: "WhenEmpty", GracePeriod: &grace, Pods: 3})
	m.InstanceTerminated("p", time.Second)
	m.NodeCreated("p")
	u := Unwell{Pool: "p", Condition: "Ready", Reason: "RepairDue"}
	m.Unhealthy(map[Unwell]int{u: 2})
	m.UnhealthyDisrupted(u, "spot", "ami-1")
	m.NodeDrained("p")
	m.NodeTerminated("p", "a", time.Second, time.Hour)
	m.EvictionAnswered("200")
	m.PodDrained("Empty")
	m.PodBound(time.Second)
	m.PodStarted(2 * time.Second)
	m.PodDecided(time.Second)
	m.NothingPending("other")
	m.BatchStarted("provisioner", "x", 5)
	m.BatchDone("other", "y", Batch{Took: time.Second, Ignored: 1, Unplaced: 2, Zones: map[string]int{"a": 3}})
	m.Evaluated(Empty, "empty", time.Second, 4)
	c := Command{Decision: "delete", Reason: Empty, ConsolidationType: "empty", Pool: "p"}
	m.CommandBegun(c)
	m.CommandCalledOff(c)
	m.CommandFailed(c)
	m.DeletionCostWritten(CostUpdated)
	m.DeletionCostsPending(map[string]int{"gone": 1})
	m.DeletionCostsPending(map[string]int{"p": 2})
	m.PoolsCost(map[string]float64{"gone": 1})
	m.PoolsCost(map[string]float64{"p": 0.5})
	m.Verdicts(map[Verdict]int{{Pool: "gone", Reason: "HasPods"}: 1})
	m.Verdicts(map[Verdict]int{{Pool: "p", Reason: "BudgetExhausted"}: 3})
	spot := cloud.Message{Events: []cloud.Event{{Kind: interruption.Spot}}, Sent: noon.Add(-time.Second), Outcome: cloud.Recorded}
	refused := cloud.Message{Refusal: "Stale", Sent: noon.Add(-time.Minute), Outcome: cloud.Refused}
	m.QueueRead(noon, []cloud.Message{spot, refused})
	m.MessageTaken(&spot, noon)
	m.MessageTaken(&refused, noon)
	m.FeedFailed("receive")
}

func TestSeriesHaveKarpentersNamesAndLabels(t *testing.T) {
	r := prometheus.NewRegistry()
	m, err := New(r, Build{Version: "v1", Commit: "c"})
	if err != nil {
		t.Fatal(err)
	}
	fill(m)
	got := exported(t, r)
	disrupted := "{capacity_type=spot,consolidation_policy=WhenEmpty,nodepool=p,reason=empty,termination_mode=eventual}"
	want := map[string]float64{
		"karpenter_nodepools_cost_total{nodepool=p}":                                                                                   0.5,
		"karpenter_nodeclaims_created_total{min_values_relaxed=false,nodepool=p,reason=provisioned}":                                   1,
		"karpenter_nodeclaims_terminated_total{capacity_type=spot,nodepool=p,zone=a}":                                                  1,
		"karpenter_nodeclaims_termination_duration_seconds{nodepool=p}":                                                                2,
		"karpenter_nodeclaims_instance_termination_duration_seconds{nodepool=p}":                                                       1,
		"karpenter_nodeclaims_disrupted_total" + disrupted:                                                                             1,
		"karpenter_pods_disruption_initiated_total" + disrupted:                                                                        3,
		"karpenter_nodeclaims_unhealthy_disrupted_total{capacity_type=spot,condition=Ready,image_id=ami-1,nodepool=p}":                 1,
		"millwright_unhealthy_nodes{condition=Ready,nodepool=p,reason=RepairDue}":                                                      2,
		"karpenter_nodes_created_total{nodepool=p}":                                                                                    1,
		"karpenter_nodes_drained_total{nodepool=p}":                                                                                    1,
		"karpenter_nodes_terminated_total{nodepool=p,zone=a}":                                                                          1,
		"karpenter_nodes_termination_duration_seconds{nodepool=p}":                                                                     1,
		"karpenter_nodes_lifetime_duration_seconds{nodepool=p}":                                                                        3600,
		"karpenter_pods_eviction_requests_total{code=200}":                                                                             1,
		"karpenter_pods_drained_total{reason=Empty}":                                                                                   1,
		"karpenter_pods_bound_duration_seconds{}":                                                                                      1,
		"karpenter_pods_startup_duration_seconds{}":                                                                                    2,
		"karpenter_pods_scheduling_decision_duration_seconds{}":                                                                        1,
		"karpenter_scheduler_queue_depth{controller=provisioner,scheduling_id=x}":                                                      5,
		"karpenter_scheduler_unfinished_work_seconds{controller=provisioner,scheduling_id=x}":                                          0,
		"karpenter_scheduler_scheduling_duration_seconds{controller=other}":                                                            1,
		"karpenter_scheduler_ignored_pods_count{}":                                                                                     1,
		"karpenter_scheduler_unschedulable_pods_count{controller=other}":                                                               2,
		"karpenter_scheduler_pending_pods_by_effective_zone_count{controller=other,zone=a}":                                            3,
		"karpenter_voluntary_disruption_decision_evaluation_duration_seconds{consolidation_type=empty,reason=empty}":                   1,
		"karpenter_voluntary_disruption_eligible_nodes{reason=empty}":                                                                  4,
		"karpenter_voluntary_disruption_decisions_total{consolidation_type=empty,decision=delete,reason=empty}":                        1,
		"karpenter_voluntary_disruption_decisions_by_nodepool_total{consolidation_type=empty,decision=delete,nodepool=p,reason=empty}": 1,
		"karpenter_voluntary_disruption_failed_validations_total{consolidation_type=empty}":                                            1,
		"karpenter_voluntary_disruption_queue_failures_total{consolidation_type=empty,decision=delete,reason=empty}":                   1,

		"karpenter_pod_deletion_cost_nodes_with_pending_annotation_writes{nodepool=p}":  2,
		"karpenter_pod_deletion_cost_pod_annotation_writes_total{result=updated}":       1,
		"karpenter_interruption_received_messages_total{message_type=spot_interrupted}": 1,
		"karpenter_interruption_received_messages_total{message_type=no_op}":            1,
		"karpenter_interruption_deleted_messages_total{}":                               1,
		"karpenter_interruption_message_queue_duration_seconds{}":                       1,
		"millwright_interruption_messages_total{outcome=Recorded,reason=}":              1,
		"millwright_interruption_messages_total{outcome=Refused,reason=Stale}":          1,
		"millwright_disruption_verdicts{nodepool=p,reason=BudgetExhausted}":             3,
		"millwright_interruption_queue_age_seconds{}":                                   60,
		"millwright_interruption_feed_errors_total{operation=receive}":                  1,
	}
	for name, v := range want {
		if got[name] != v {
			t.Errorf("%s is %v, want %v", name, got[name], v)
		}
	}
	for name := range got {
		if _, known := want[name]; !known && !strings.HasPrefix(name, "karpenter_build_info{commit=c,goarch=") {
			t.Errorf("%s is not expected", name)
		}
	}
}

func TestNoMetricsAreFineToReportTo(*testing.T) { fill(nil) }

func TestTheSameSeriesCannotBeRegisteredTwice(t *testing.T) {
	r := prometheus.NewRegistry()
	if _, err := New(r, Build{}); err != nil {
		t.Fatal(err)
	}
	if _, err := New(r, Build{}); err == nil {
		t.Error("registered twice without an error")
	}
}

// stub answers every call with an error and takes a second.
type stub struct {
	cloud.Provider
	clock *clocktesting.FakeClock
	err   error
}

func (s stub) Get(context.Context, string) (cloud.Instance, error) {
	s.clock.Step(time.Second)
	return cloud.Instance{ProviderID: "x"}, s.err
}

// Launch fails for one offering and delivers another.
func (s stub) Launch(_ context.Context, req cloud.LaunchRequest) (cloud.Instance, error) {
	req.Fail(cloud.LaunchFailure{Zone: "a", ZoneID: "az1", CapacityType: "spot", Reason: cloud.SoldOut})
	return cloud.Instance{}, nil
}

func (s stub) Terminate(context.Context, string) error { return s.err }

func TestWhatACloudDoesNotDeliverOrEndIsCounted(t *testing.T) {
	r := prometheus.NewRegistry()
	m, err := New(r, Build{})
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	ended := func(answer error) {
		if got := Wrap(stub{err: answer}, m, "kwok", clock).Terminate(t.Context(), "x"); !errors.Is(got, answer) {
			t.Errorf("the answer became %v", got)
		}
	}
	if _, err := Wrap(stub{}, m, "kwok", clock).Launch(t.Context(), cloud.LaunchRequest{}); err != nil {
		t.Error(err)
	}
	ended(nil)
	ended(cloud.ErrNotFound)
	ended(fmt.Errorf("x: %w", &cloud.TerminationError{Zone: "a", ZoneID: "az1", Err: errors.New("not allowed")}))
	got := exported(t, r)
	for _, series := range []string{
		"karpenter_cloudprovider_instance_launch_failures_total{capacity_type=spot,reason=InsufficientInstanceCapacity,zone=a,zone_id=az1}",
		"karpenter_cloudprovider_instance_termination_failures_total{zone=a,zone_id=az1}",
	} {
		if got[series] != 1 {
			t.Errorf("%s is %v of %v", series, got[series], got)
		}
	}
}

func TestCallsToAProviderAreMeasuredAndItsAnswersKept(t *testing.T) {
	for label, err := range map[string]error{
		"NodeClaimNotFoundError":    fmt.Errorf("looking: %w", cloud.ErrNotFound),
		"InsufficientCapacityError": &cloud.InsufficientCapacityError{},
		"NodeClassNotReadyError":    &cloud.ClassNotReadyError{},
		"":                          errors.New("anything else"),
	} {
		r := prometheus.NewRegistry()
		m, e := New(r, Build{})
		if e != nil {
			t.Fatal(e)
		}
		clock := clocktesting.NewFakeClock(time.Unix(0, 0))
		p := Wrap(stub{clock: clock, err: err}, m, "kwok", clock)
		if i, got := p.Get(WithController(context.Background(), "loop"), "x"); i.ProviderID != "x" || !errors.Is(got, err) {
			t.Errorf("the answer became %v, %v", i, got)
		}
		got := exported(t, r)
		if got["karpenter_cloudprovider_duration_seconds{controller=loop,method=Get,provider=kwok}"] != 1 {
			t.Errorf("duration: %v", got)
		}
		if got[fmt.Sprintf("karpenter_cloudprovider_errors_total{controller=loop,error=%s,method=Get,provider=kwok}", label)] != 1 {
			t.Errorf("error %s: %v", label, got)
		}
	}
}
