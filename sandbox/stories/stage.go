package stories

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/millwright-dev/millwright/sandbox/harness"
)

// stage is where a story is played.
type stage struct {
	Config
	ctx        context.Context
	client     kubernetes.Interface
	dynamic    dynamic.Interface
	apply      *harness.Applier
	controller *harness.Controller
	// old are machines that are to go.
	old []string
}

// How long it takes to believe that something hangs, and that something stays.
const (
	hangs      = 10 * time.Second
	agentsStay = 5 * time.Second
)

func (st *stage) say(format string, args ...any) { fmt.Fprintf(st.Out, format+"\n", args...) }

func (st *stage) chapter(title string) { st.say("\n== %s\n", title) }

// command prints a command line as one that was entered.
func (st *stage) command(text string) { st.say("$ %s", text) }

// timeout is how long anything may take on a busy machine.
const timeout = 3 * time.Minute

// eventually looks five times a second until a check finds no fault, and says how long that
// took.
func (st *stage) eventually(what string, check func() error) error {
	begin := time.Now()
	for {
		err := check()
		if err == nil {
			st.say("%5.1fs  %s", time.Since(begin).Seconds(), what)
			return nil
		}
		if time.Since(begin) > timeout {
			return fmt.Errorf("waiting until %s: after %v %w", what, timeout, err)
		}
		if err := st.pause(); err != nil {
			return err
		}
	}
}

// throughout looks five times a second that nothing is at fault for a while.
func (st *stage) throughout(what string, duration time.Duration, check func() error) error {
	for end := time.Now().Add(duration); time.Now().Before(end); {
		if err := check(); err != nil {
			return fmt.Errorf("for %v %s: %w", duration, what, err)
		}
		if err := st.pause(); err != nil {
			return err
		}
	}
	st.say("%5.1fs  %s", duration.Seconds(), what)
	return nil
}

// pause is the time between two looks, in which the controller may not end.
func (st *stage) pause() error {
	select {
	case <-st.ctx.Done():
		return st.ctx.Err()
	case <-st.controller.Done():
		return errors.Join(errors.New("the controller ended on its own"), st.controller.Ended())
	case <-time.After(200 * time.Millisecond):
		return nil
	}
}

// millwright runs the command line as an administrator.
func (st *stage) millwright(args ...string) (string, error) {
	var out, wrong bytes.Buffer
	cmd := exec.CommandContext(st.ctx, st.Millwright, append(slices.Clone(args), "--kubeconfig", st.Kubeconfig)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = st.Root, &out, &wrong
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("millwright %s: %w: %s", strings.Join(args, " "), err, wrong.String())
	}
	return out.String(), nil
}

// show runs the command line and prints what it says.
func (st *stage) show(args ...string) error {
	out, err := st.millwright(args...)
	if err != nil {
		return err
	}
	st.command("millwright " + strings.Join(args, " "))
	st.say("%s", strings.TrimRight(out, "\n"))
	return nil
}

// finding is one of millwright doctor -o json.
type finding struct {
	Check, Message, Command, Manifest string
	Object                            object
	Patch                             json.RawMessage
	Delete                            *object
}

type object struct{ Kind, Namespace, Name string }

func (st *stage) findings(args []string) ([]finding, error) {
	out, err := st.millwright(append(slices.Clone(args), "-o", "json")...)
	if err != nil {
		return nil, err
	}
	var document struct{ Findings []finding }
	if err := json.Unmarshal([]byte(out), &document); err != nil {
		return nil, fmt.Errorf("reading findings: %w", err)
	}
	return document.Findings, nil
}

// resources are those that fixes change.
var resources = map[string]schema.GroupVersionResource{
	"NodePool":            {Group: "karpenter.sh", Version: "v1", Resource: "nodepools"},
	"DaemonSet":           {Group: "apps", Version: "v1", Resource: "daemonsets"},
	"Deployment":          {Group: "apps", Version: "v1", Resource: "deployments"},
	"PodDisruptionBudget": {Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
}

var nodeClaims = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}

// carryOut does what the command of a finding says.
func (st *stage) carryOut(f finding) error {
	switch {
	case f.Manifest != "":
		return st.apply.Text(st.ctx, f.Manifest)
	case f.Delete != nil:
		return st.dynamic.Resource(resources[f.Delete.Kind]).Namespace(f.Delete.Namespace).Delete(st.ctx, f.Delete.Name, metav1.DeleteOptions{})
	}
	_, err := st.dynamic.Resource(resources[f.Object.Kind]).Namespace(f.Object.Namespace).Patch(st.ctx, f.Object.Name, types.JSONPatchType, f.Patch, metav1.PatchOptions{})
	return err
}

// pods are those of a namespace that a selector matches.
func (st *stage) pods(namespace, selector string) ([]corev1.Pod, error) {
	list, err := st.client.CoreV1().Pods(namespace).List(st.ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// running finds fault unless exactly n pods match and all are ready.
func (st *stage) running(namespace, selector string, n int) func() error {
	return func() error {
		pods, err := st.pods(namespace, selector)
		if err != nil {
			return err
		}
		if err := harness.AllRunning(pods, n); err != nil {
			return fmt.Errorf("%s: %w", selector, err)
		}
		return nil
	}
}

// told wants an event about a pod, and prints it.
func (st *stage) told(namespace, reason, words string) error {
	var said string
	err := st.eventually("an event says why:", func() error {
		list, err := st.client.CoreV1().Events(namespace).List(st.ctx, metav1.ListOptions{FieldSelector: "reason=" + reason})
		if err != nil {
			return err
		}
		for _, e := range list.Items {
			if strings.Contains(e.Message, words) {
				said = fmt.Sprintf("%s/%s: %s: %s", strings.ToLower(e.InvolvedObject.Kind), e.InvolvedObject.Name, e.Reason, e.Message)
				return nil
			}
		}
		return fmt.Errorf("no event %s says %q", reason, words)
	})
	if err == nil {
		st.say("        %s", said)
	}
	return err
}

// says reports whether a NodeClaim has a condition that is True, for a reason if one is given.
func says(claim *unstructured.Unstructured, condition, reason string) bool {
	list, _, _ := unstructured.NestedSlice(claim.Object, "status", "conditions")
	return slices.ContainsFunc(list, func(c any) bool {
		m, _ := c.(map[string]any)
		return m["type"] == condition && m["status"] == "True" && (reason == "" || m["reason"] == reason)
	})
}

// claimOf is the name of the only NodeClaim of a pool.
func (st *stage) claimOf(pool string) (string, error) {
	list, err := st.dynamic.Resource(nodeClaims).List(st.ctx, metav1.ListOptions{LabelSelector: "karpenter.sh/nodepool=" + pool})
	if err != nil {
		return "", err
	}
	if len(list.Items) != 1 {
		return "", fmt.Errorf("pool %s has %d NodeClaims, want one", pool, len(list.Items))
	}
	return list.Items[0].GetName(), nil
}
