package plan

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/golden"
)

const verdictsPage = "../../docs/verdicts.md"

// The page has an example and a fix for every reason by which a machine stays or goes and
// a pod gets no machine, as they are printed.
func TestThePageOfVerdictsHasAnExampleAndAFixForEveryReason(t *testing.T) {
	page := `# Every reason, with an example and what to do

What ` + "`millwright why`, `millwright plan`" + `, conditions and events say, word for word. This page is written by a test (` + "`go test ./engine/plan -rewrite`" + `). More about machines is in [disruption.md](disruption.md), about pods in [reasons.md](reasons.md).
`
	for _, part := range []struct{ title, file string }{
		{"Why a machine stays or goes", "codes_disruption.go"}, {"Why a pod gets no machine, or another than it prefers", "codes.go"},
	} {
		page += "\n## " + part.title + "\n\n| reason | for example | what would have to change |\n|---|---|---|\n"
		for _, code := range codesOf(t, part.file) {
			r, ok := examples[code]
			r.Code = code
			text, fix := r.Message(), r.Fix()
			if !ok || text == "" || strings.Contains(text, string(code)) || fix == "" {
				t.Errorf("%s: example %t, message %q, fix %q", code, ok, text, fix)
			}
			page += fmt.Sprintf("| `%s` | %s | %s |\n", code, cell(text), cell(fix))
		}
	}
	golden.Compare(t, verdictsPage, page)
}

// cell is text in a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// codesOf are the reasons that a file lists, in its order.
func codesOf(t *testing.T, file string) []Code {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []Code
	for _, m := range regexp.MustCompile(`Code = "(\w+)"`).FindAllSubmatch(source, -1) {
		out = append(out, Code(m[1]))
	}
	if len(out) < 4 {
		t.Fatalf("found only %d codes in %s", len(out), file)
	}
	return out
}

var (
	noonish  = time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)
	thePool  = ObjectRef{Kind: "NodePool", Name: "general"}
	theNode  = ObjectRef{Kind: "Node", Name: "general-x7k2p"}
	other    = ObjectRef{Kind: "Node", Name: "general-q4mzr"}
	aPod     = ObjectRef{Kind: "Pod", Namespace: "shop", Name: "web-0"}
	aClaim   = ObjectRef{Kind: "PersistentVolumeClaim", Namespace: "shop", Name: "data-web-0"}
	aBudget  = ObjectRef{Kind: "PodDisruptionBudget", Namespace: "shop", Name: "web"}
	daemons  = ObjectRef{Kind: "DaemonSet", Namespace: "kube-system", Name: "proxy"}
	ofPool   = []ObjectRef{thePool}
	ofNode   = []ObjectRef{theNode}
	ofPod    = []ObjectRef{aPod}
	untilOne = noonish.Add(time.Hour)
)

// examples are reasons as the engine makes them.
var examples = map[Code]Reason{
	Disrupting:          {Objects: ofNode, Since: noonish, Want: "Drifted", Have: "waits for NodeClaim general-5d2cb"},
	BeingDeleted:        {Objects: ofNode},
	NotOurs:             {Objects: ofNode},
	NotInitialized:      {Objects: ofNode, Want: "Initialized", Have: "StartupTaintsExist"},
	InstanceShared:      {Objects: []ObjectRef{other, aPod}},
	Standalone:          {Objects: ofNode},
	PoolMissing:         {Objects: ofPool},
	StaticPool:          {Objects: ofPool},
	DoNotDisrupt:        {Objects: ofPod, Have: "30m", Until: untilOne},
	Nominated:           {Objects: ofPod},
	ConsolidationOff:    {Objects: ofPool},
	HasPods:             {Objects: ofPod, Have: "1"},
	HasBuffers:          {Objects: []ObjectRef{{Kind: "CapacityBuffer", Namespace: "shop", Name: "room"}}, Have: "2"},
	PDBBlocks:           {Objects: []ObjectRef{aPod, aBudget}},
	ConsolidateAfter:    {Objects: ofNode, Want: "1h0m0s", Since: noonish, Until: untilOne},
	BudgetExhausted:     {Objects: ofPool, Want: `nodes: "10%"`, Have: "2 of 20 nodes not ready or leaving, 2 allowed", Total: 2},
	BudgetInvalid:       {Objects: ofPool, Have: `schedule "0 25 * * *": end of range (25) above maximum (23): 25`},
	PodFitsNowhere:      {Objects: []ObjectRef{aPod, theNode}},
	RoomKept:            {Objects: ofPool, Have: "12", Want: "10m0s", Hint: "$1.20/h", Until: untilOne},
	NothingCheaper:      {Objects: ofNode, Have: "$0.10/h", Want: "$0.10/h"},
	Starved:             {Objects: append(ofPool, ofNode...), Have: "1m0s", Want: "2m0s", Total: 31, Since: untilOne.Add(-time.Hour), Until: untilOne},
	SavingTooSmall:      {Objects: ofPool, Field: "loopFreeze", Have: "$0.01/h", Want: "$0.02/h", Removed: 12, Total: 300, Hint: "$1.20/h", Until: untilOne},
	WatchBehind:         {Objects: []ObjectRef{aPod, other}},
	NotExamined:         {Objects: ofNode, Have: "$0.05/h"},
	CountedOn:           {Objects: []ObjectRef{other}},
	Replacement:         {Objects: []ObjectRef{other}},
	RolledBack:          {Objects: []ObjectRef{other}, Have: `pod/web-0 -n shop has the annotation karpenter.sh/do-not-disrupt: "true"`},
	ReplacementFailed:   {Objects: []ObjectRef{{Kind: "NodeClaim", Name: "general-5d2cb"}}, Have: "2", Until: untilOne},
	LimitHolds:          {Objects: ofPool, Want: "100", Have: "cpu would be 104 of 100"},
	PolicyHolds:         {Objects: []ObjectRef{thePool, {Kind: "NodePolicy", Name: "sales"}}, Want: `freeze: "Black Friday"`},
	NotAgreed:           {Objects: []ObjectRef{aPod, thePool}},
	WorkloadCoolsDown:   {Objects: ofPod, Want: "15m0s", Since: noonish, Until: noonish.Add(15 * time.Minute)},
	EvictionRateReached: {Objects: ofPool, Want: "200", Have: "198", Until: untilOne},
	PriceUnknown:        {Objects: ofNode},

	NoPools:                {},
	PoolNotReady:           {Objects: ofPool, Have: "EC2NodeClass default: no subnet matches"},
	PoolStatic:             {Objects: ofPool},
	NoInstanceTypes:        {Objects: ofPool, Want: "kubernetes.io/arch In [s390x]", Have: "amd64, arm64"},
	ExcludedByPool:         {Objects: ofPool, Want: "karpenter.k8s.aws/instance-category In [c m r]", Have: "g", With: []Constraint{{Code: InsufficientResources, Want: "nvidia.com/gpu 1"}}},
	TaintNotTolerated:      {Objects: ofPool, Have: "dedicated=batch:NoSchedule"},
	RequirementNotMet:      {Objects: ofPool, Field: FieldNodeSelector, Want: "disk=nvme", Have: "ssd"},
	InsufficientResources:  {Objects: ofPool, Field: FieldRequests, Want: "cpu 400", Have: "cpu 192 on m7i.48xlarge"},
	VolumeLimitExceeded:    {Objects: ofPool, Want: "40 volumes of ebs.csi.aws.com", Have: "26 volumes of ebs.csi.aws.com"},
	HostPortTaken:          {Objects: []ObjectRef{thePool, daemons}, Want: "9100/TCP"},
	OfferingUnavailable:    {Objects: ofPool, Have: "spot in us-east-1a"},
	LimitExceeded:          {Objects: ofPool, Want: "cpu 100", Have: "cpu 96"},
	MinValuesNotMet:        {Objects: ofPool, Want: "5 of node.kubernetes.io/instance-type", Have: "2"},
	ConstraintsInvalid:     {Have: "topology spread: maxSkew 0"},
	ConstraintUnsupported:  {Want: "a device of class gpu.example.com"},
	VolumeClaimMissing:     {Objects: []ObjectRef{aClaim}},
	VolumeClaimUnusable:    {Objects: []ObjectRef{aClaim}, Have: "it is being deleted"},
	StorageClassMissing:    {Objects: []ObjectRef{aClaim, {Kind: "StorageClass", Name: "fast"}}},
	TopologyNotSatisfiable: {Objects: ofPool, Want: "anti-affinity to app=web in one topology.kubernetes.io/zone", Have: "zone-a has 1"},
	PreferenceTooDear:      {Want: "node affinity to topology.kubernetes.io/zone In [us-east-1a]", Have: "10%"},
	PreferenceNotMet:       {Want: "node affinity to topology.kubernetes.io/zone In [us-east-1a]"},
	PodEnded:               {Objects: ofPod, Have: "Succeeded"},
	PodOfDaemonSet:         {Objects: ofPod},
	PodOfNode:              {Objects: ofPod},
	SchedulingGated:        {Objects: ofPod, Have: "example.com/quota"},
	JobSuspended:           {Objects: []ObjectRef{{Kind: "Job", Namespace: "batch", Name: "nightly"}}},
	Preempting:             {Objects: ofPod, Have: "general-x7k2p"},
	OptedOut:               {Objects: ofPod},
	AwaitingScheduler:      {Objects: ofPod},
	SchedulerDisagrees: {
		Objects: []ObjectRef{theNode, aPod}, Since: noonish, Until: untilOne,
		Have: "0/1 nodes are available: 1 node(s) did not have enough free storage.",
	},
	ResizeDeferred:   {Objects: []ObjectRef{aPod, theNode}, Have: "Node didn't have enough resource: cpu, requested: 6000, used: 5000, capacity: 8000"},
	ResizeInfeasible: {Objects: []ObjectRef{aPod, theNode}, Have: "Node didn't have enough capacity: cpu, requested: 9000, capacity: 8000"},
}
