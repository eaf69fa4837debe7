package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/millwright-dev/millwright/cli/color"
	"github.com/millwright-dev/millwright/controllers"
)

// runWith runs `millwright run` on the simulated cloud with a controller that
// only takes down its configuration.
func runWith(t *testing.T, env map[string]string, args ...string) (cfg controllers.Config, stderr string, err error) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	t.Setenv("LOG_OUTPUT_PATHS", log)
	t.Setenv("POD_NAMESPACE", "millwright-system")
	for name, value := range env {
		t.Setenv(name, value)
	}
	streams, _, _, errOut := genericiooptions.NewTestIOStreams()
	mode := color.Never
	cmd := newRunWith(console{streams, &mode}, func(_ context.Context, c controllers.Config) error {
		cfg = c
		return nil
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"--provider", "kwok", "--server", "http://127.0.0.1:1"}, args...))
	err = cmd.ExecuteContext(t.Context())
	return cfg, errOut.String(), err
}

func TestTheDefaultsAreKarpenters(t *testing.T) {
	c, stderr, err := runWith(t, nil)
	if err != nil || stderr != "" {
		t.Fatal(err, stderr)
	}
	if c.BatchIdle != time.Second || c.BatchMax != 10*time.Second || c.MetricsAddress != ":8080" || c.HealthAddress != ":8081" ||
		c.REST.QPS != 200 || c.REST.Burst != 300 || c.REST.Host != "http://127.0.0.1:1" || c.DisableLeaderElection ||
		c.LeaderElectionName != "karpenter-leader-election" || c.LeaderElectionNamespace != "millwright-system" {
		t.Errorf("got %+v, %+v", c, c.REST)
	}
	if c.Provider.Name != "kwok" || c.Provider.New == nil || len(c.Provider.Classes) != 1 || c.Provider.Classes[0].Kind != "KWOKNodeClass" {
		t.Errorf("got %+v", c.Provider)
	}
}

func TestOutsideAPodTheNamespaceOfTheLeaseIsAskedFor(t *testing.T) {
	for args, want := range map[string]string{"": "--leader-election-namespace", "--disable-leader-election": "", "--leader-election-namespace=x": ""} {
		_, _, err := runWith(t, map[string]string{"POD_NAMESPACE": ""}, strings.Fields(args)...)
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestFlagsWinOverTheEnvironment(t *testing.T) {
	c, _, err := runWith(t, map[string]string{
		"BATCH_MAX_DURATION": "20s", "BATCH_IDLE_DURATION": "2s", "METRICS_PORT": "0", "DISABLE_LEADER_ELECTION": "true",
		"KUBE_CLIENT_QPS": "50", "LEADER_ELECTION_NAMESPACE": "elsewhere",
	}, "--batch-idle-duration", "3s", "--disable-leader-election=false")
	if err != nil {
		t.Fatal(err)
	}
	if c.BatchMax != 20*time.Second || c.BatchIdle != 3*time.Second || c.MetricsAddress != "0" || c.DisableLeaderElection ||
		c.REST.QPS != 50 || c.LeaderElectionNamespace != "elsewhere" {
		t.Errorf("got %+v, QPS %v", c, c.REST.QPS)
	}
}

func TestProfilesAreServedToThePodAlone(t *testing.T) {
	c, _, err := runWith(t, map[string]string{})
	if err != nil || c.ProfilingAddress != "" || c.MetricsAuthentication {
		t.Errorf("by default %q, %t, %v", c.ProfilingAddress, c.MetricsAuthentication, err)
	}
	c, stderr, err := runWith(t, map[string]string{"ENABLE_PROFILING": "true", "METRICS_AUTHENTICATION": "true", "METRICS_CERT_DIR": "/certs"})
	if err != nil || stderr != "" || c.ProfilingAddress != "127.0.0.1:6060" || !c.MetricsAuthentication || c.MetricsCertificates != "/certs" {
		t.Errorf("got %q, %t, %q, %q, %v", c.ProfilingAddress, c.MetricsAuthentication, c.MetricsCertificates, stderr, err)
	}
	for want, args := range map[string][]string{
		"served without TLS":         {"--metrics-authentication=false", "--metrics-cert-dir", "/certs"},
		"is the port of metrics":     {"--profiling-port", "8080"},
		"--profiling-port: 0 is not": {"--profiling-port", "0"},
	} {
		if _, _, err := runWith(t, map[string]string{}, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v", args, err)
		}
	}
}

func TestBadValuesInTheEnvironmentAbort(t *testing.T) {
	for variable, value := range map[string]string{
		"BATCH_MAX_DURATION": "soon", "DISABLE_LEADER_ELECTION": "yes", "METRICS_PORT": "http", "IGNORE_DRA_REQUESTS": "1", "FEATURE_GATES": "NodeRepair=maybe", "AWS_FEATURE_GATES": "NodeClassCEL", "MIN_VALUES_POLICY": "Sometimes", "PREFERENCE_POLICY": "Maybe", "PREFERENCE_COST": "little",
	} {
		t.Run(variable, func(t *testing.T) {
			_, _, err := runWith(t, map[string]string{variable: value})
			if err == nil || !strings.Contains(err.Error(), "environment variable "+variable) || !strings.Contains(err.Error(), value) {
				t.Errorf("%s=%s: got %v", variable, value, err)
			}
		})
	}
}

func TestKarpentersGatesAreSwitched(t *testing.T) {
	for value, want := range map[string]bool{"NodeRepair=true,NodeOverlay=true,CapacityBuffer=true,TerminateFirstDrift=true,PodDeletionCostManagement=true": true, "ReservedCapacity=true, NodeRepair=false,NodeOverlay=false,": false, "": false} {
		c, stderr, err := runWith(t, map[string]string{"FEATURE_GATES": value})
		if err != nil || stderr != "" || c.NodeRepair != want || c.NodeOverlay != want || c.CapacityBuffer != want || c.TerminateFirstDrift != want || c.PodDeletionCosts != want {
			t.Errorf("%q: repair %t, overlays %t, buffers %t, terminate first %t, costs %t, %q, %v", value, c.NodeRepair, c.NodeOverlay, c.CapacityBuffer, c.TerminateFirstDrift, c.PodDeletionCosts, stderr, err)
		}
	}
}

func TestSettingsOfKarpentersWithoutEffectAreNamed(t *testing.T) {
	_, stderr, err := runWith(t, map[string]string{"FEATURE_GATES": "DynamicResources=true,SpotToSpotConsolidation=true", "AWS_FEATURE_GATES": "NodeClassCEL=true,RebootForRepair=true,DRAEFA=true", "IGNORE_DRA_REQUESTS": "true"}, "--cpu-requests", "2000")
	if err != nil {
		t.Fatal(err)
	}
	want := "warning: --cpu-requests=2000 has no effect: the number of workers does not depend on it\n" +
		"warning: --aws-feature-gates DRAEFA=true has no effect: that gate cannot be switched here\n" +
		"warning: --feature-gates DynamicResources=true has no effect: that gate cannot be switched here\n"
	if stderr != want {
		t.Errorf("got\n%swant\n%s", stderr, want)
	}
}

func TestWhatPodsPreferHasItsPrice(t *testing.T) {
	for _, tt := range []struct {
		args   []string
		share  float64
		ignore bool
	}{
		{nil, 0.1, false},
		{[]string{"--preference-cost", "25"}, 0.25, false},
		{[]string{"--preference-cost", "0"}, -1, false},
		{[]string{"--preference-policy", "Ignore"}, 0.1, true},
	} {
		c, _, err := runWith(t, map[string]string{}, tt.args...)
		if err != nil || c.Placement.Preference != tt.share || c.Placement.IgnorePreferences != tt.ignore {
			t.Errorf("%v: got %+v, %v", tt.args, c.Placement, err)
		}
	}
	if _, _, err := runWith(t, map[string]string{}, "--preference-cost", "-5"); err == nil || !strings.Contains(err.Error(), "--preference-cost") {
		t.Errorf("got %v", err)
	}
}

func TestSourcesOfAnnouncementsAreCheckedAtTheStart(t *testing.T) {
	const url = "https://sqs.eu-west-1.amazonaws.com/111122223333/interruptions"
	c, _, err := runWith(t, map[string]string{"INTERRUPTION_QUEUE": url, "AWS_REGION": ""}, "--instance-status-interval", "1m")
	if err != nil || c.Announcements.Queue == nil || c.Announcements.Inspector == nil || c.Announcements.Every != time.Minute {
		t.Errorf("got %+v, %v", c.Announcements, err)
	}
	if c, _, err := runWith(t, map[string]string{"INTERRUPTION_QUEUE": ""}); err != nil || c.Announcements.Queue != nil || c.Announcements.Inspector != nil {
		t.Errorf("without a queue: %+v, %v", c.Announcements, err)
	}
	for _, tt := range []struct{ args, want string }{
		{"--interruption-queue=a,b --aws-region=eu-west-1", "--interruption-queue: \"a,b\" is neither the name nor the URL of a queue"},
		{"--interruption-queue=q", "--aws-region: required"},
		{"--interruption-queue=q --aws-region=EU", "--aws-region: \"EU\" is not a region"},
		{"--interruption-queue=q --aws-account-id=12", "--aws-account-id: \"12\" is not 12 digits"},
		{"--interruption-queue=q --interruption-max-age=0s", "--interruption-max-age: must be positive"},
		{"--interruption-queue=q --interruption-dead-letter-queue=q", "--interruption-dead-letter-queue: q is the queue itself"},
		{"--interruption-dead-letter-queue=q", "--interruption-dead-letter-queue: set without --interruption-queue"},
		{"--instance-status-interval=1s", "--instance-status-interval: must be 0, for never, or at least 10s"},
		{"--interruption-queue=q --aws-endpoint-url=here", "--aws-endpoint-url: \"here\" is not an http or https URL"},
	} {
		env := map[string]string{"INTERRUPTION_QUEUE": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_CONFIG_FILE": filepath.Join(t.TempDir(), "none"), "AWS_EC2_METADATA_DISABLED": "true"}
		if _, _, err := runWith(t, env, strings.Fields(tt.args)...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.args, err, tt.want)
		}
	}
}

func TestAnObserverHasALeaseOfItsOwn(t *testing.T) {
	c, _, err := runWith(t, map[string]string{"MODE": "observe"})
	if err != nil || !c.Observe || c.LeaderElectionName != controllers.ObserverName {
		t.Errorf("got %+v, %v", c, err)
	}
	if c, _, err = runWith(t, map[string]string{}, "--mode", "observe", "--leader-election-name", "mine"); err != nil || c.LeaderElectionName != "mine" {
		t.Errorf("got %+v, %v", c, err)
	}
	if _, _, err = runWith(t, map[string]string{}, "--mode", "watch"); err == nil {
		t.Error("an unknown mode is accepted")
	}
}
