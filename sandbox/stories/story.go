package stories

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/millwright-dev/millwright/sandbox/harness"
)

// Story is one failure.
type Story struct {
	// Name is what people ask for, Title what it is about, in a line.
	Name, Title string
	// scene says what there is in the cluster.
	scene string
	// checks are those of doctor that name the failure.
	checks []string
	// given are the arguments with which doctor is asked beforehand; none is the cluster.
	given []string
	// begin brings the cluster to where the failure can happen, nil if it is there at once; fail
	// lets it happen and clears up behind it, and hold shows that it does not happen any more.
	begin, fail, hold func(*stage) error
}

// All are the stories, in the order in which they are told.
func All() []Story {
	return []Story{storage, maintenance, stuck, addons, startup}
}

// Names are what they are called.
func Names() []string {
	var out []string
	for _, s := range All() {
		out = append(out, s.Name)
	}
	return out
}

//go:embed testdata
var testdata embed.FS

// Config says where a story is played.
type Config struct {
	// REST reaches the sandbox as its administrator, as does the file Kubeconfig.
	REST       *rest.Config
	Kubeconfig string
	// Millwright is the path of the binary, Root the checkout with deploy/.
	Millwright, Root string
	// Dir takes the controller's kubeconfig and log.
	Dir string
	Out io.Writer
}

// LogName is the controller's log below Config.Dir.
const LogName = "millwright.log"

// Play plays one story to its end. It fails if doctor does not name the failure, if it does not
// happen, if a fix cannot be applied, or if it does not hold.
func Play(ctx context.Context, name string, cfg Config) error {
	all := All()
	i := slices.IndexFunc(all, func(s Story) bool { return s.Name == name })
	if i < 0 {
		return fmt.Errorf("there is no story %q; there are %s", name, strings.Join(Names(), ", "))
	}
	st, err := newStage(ctx, cfg)
	if err != nil {
		return err
	}
	defer st.controller.Kill()
	s := all[i]
	st.say("%s: %s", s.Name, s.Title)
	if err := st.play(s); err != nil {
		return fmt.Errorf("story %s: %w", s.Name, err)
	}
	return st.controller.Stop()
}

func (st *stage) play(s Story) error {
	st.chapter("The cluster")
	st.say("%s", s.scene)
	text, err := testdata.ReadFile("testdata/" + s.Name + ".yaml")
	if err != nil {
		return err
	}
	if err := st.apply.Text(st.ctx, string(text)); err != nil {
		return err
	}
	if s.begin != nil {
		if err := s.begin(st); err != nil {
			return err
		}
	}
	st.chapter("What doctor says beforehand")
	if err := st.named(s); err != nil {
		return err
	}
	st.chapter("What happens if nobody asks")
	if err := s.fail(st); err != nil {
		return fmt.Errorf("the failure: %w", err)
	}
	st.chapter("The fix")
	if err := st.mend(s.checks); err != nil {
		return fmt.Errorf("the fix: %w", err)
	}
	st.chapter("What happens now")
	return s.hold(st)
}

// named wants doctor to find what the story is about, and prints what it says of that.
func (st *stage) named(s Story) error {
	args := append([]string{"doctor", "--fail-on", "never"}, s.given...)
	found, err := st.findings(args)
	if err != nil {
		return err
	}
	for _, check := range s.checks {
		if !slices.ContainsFunc(found, func(f finding) bool { return f.Check == check }) {
			return fmt.Errorf("doctor does not find %s", check)
		}
	}
	return st.show(args...)
}

// mend applies the fixes of some checks, and wants nothing of them to be left.
func (st *stage) mend(checks []string) error {
	args := []string{"doctor", "--fail-on", "never"}
	found, err := st.findings(args)
	if err != nil {
		return err
	}
	done := map[string]bool{}
	for _, f := range found {
		if !slices.Contains(checks, f.Check) || f.Command == "" || done[f.Command] {
			continue
		}
		done[f.Command] = true
		st.command(f.Command)
		if err := st.carryOut(f); err != nil {
			return fmt.Errorf("%s: %w", f.Check, err)
		}
	}
	if len(done) == 0 {
		return errors.New("doctor has none")
	}
	left, err := st.findings(args)
	if err != nil {
		return err
	}
	for _, f := range left {
		if slices.Contains(checks, f.Check) {
			return fmt.Errorf("doctor still finds %s of %s: %s", f.Check, f.Object.Name, f.Message)
		}
	}
	st.say("Doctor finds nothing of it any more.")
	return nil
}

// newStage installs Millwright and starts it.
func newStage(ctx context.Context, cfg Config) (*stage, error) {
	st := &stage{Config: cfg, ctx: ctx}
	var err error
	if st.Millwright, err = filepath.Abs(cfg.Millwright); err != nil {
		return nil, fmt.Errorf("finding the binary: %w", err)
	}
	if st.client, err = kubernetes.NewForConfig(cfg.REST); err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	if st.dynamic, err = dynamic.NewForConfig(cfg.REST); err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	if st.apply, err = harness.NewApplier(cfg.REST); err != nil {
		return nil, err
	}
	deploy := filepath.Join(cfg.Root, "deploy")
	if err := st.apply.Files(ctx, filepath.Join(deploy, "crds"), filepath.Join(deploy, "rbac")); err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(cfg.Dir, "millwright.kubeconfig")
	if err := harness.WriteKubeconfig(ctx, cfg.REST, kubeconfig); err != nil {
		return nil, err
	}
	st.controller, err = harness.StartController(ctx, harness.ControllerConfig{
		Binary: st.Millwright, Kubeconfig: kubeconfig,
		Args: []string{"--provider", "kwok", "--instance-types", "ec2"}, LogFile: filepath.Join(cfg.Dir, LogName),
	})
	return st, err
}
