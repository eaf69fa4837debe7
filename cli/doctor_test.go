package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/cli/color"
	"github.com/millwright-dev/millwright/doctor"
)

// pages serves NodePools one to a page, and answers for Deployments with an error.
type pages struct {
	client.Reader
	pools []karpv1.NodePool
	// deployments is the error of listing them.
	deployments error
	lists       int
}

func (p *pages) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(opts)
	if o.Limit == 0 {
		return errors.New("the list is not paged")
	}
	p.lists++
	switch l := list.(type) {
	case *karpv1.NodePoolList:
		at := 0
		if o.Continue != "" {
			at = 1
		}
		l.Items, l.Continue = p.pools[at:at+1], ""
		if at == 0 {
			l.Continue = "more"
		}
	case *appsv1.DeploymentList:
		return p.deployments
	}
	return nil
}

func twoPools(t *testing.T) []karpv1.NodePool {
	t.Helper()
	frozen := karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "frozen"}}
	frozen.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "0"}}
	return []karpv1.NodePool{{ObjectMeta: metav1.ObjectMeta{Name: "fine"}}, frozen}
}

func TestDoctorReadsAClusterInPages(t *testing.T) {
	for want, deployments := range map[string]error{
		"warning  budget-never-opens  nodepool/frozen\n":           nil,
		"not examined: deployments.apps is forbidden: not yours\n": apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "", errors.New("not yours")),
		"not examined: the cluster serves no Deployment\n":         fmt.Errorf("listing: %w", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}}),
	} {
		var out bytes.Buffer
		mode := color.Never
		p := &pages{pools: twoPools(t), deployments: deployments}
		cmd := newDoctorWith(console{genericiooptions.IOStreams{Out: &out, ErrOut: &out}, &mode}, examination{
			connect: func(*genericclioptions.ConfigFlags) (client.Reader, error) { return p, nil },
			clock:   clocktesting.NewFakePassiveClock(noon),
		})
		cmd.SetArgs(nil)
		err := cmd.ExecuteContext(t.Context())
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q:\n%s", want, out.String())
		}
		if denied := apierrors.IsForbidden(deployments); denied != (err != nil) || denied && !strings.Contains(err.Error(), "not all of the cluster may be read") {
			t.Errorf("after %v it ends with %v", deployments, err)
		}
		listed := slices.DeleteFunc(doctor.Kinds(), func(k doctor.Kind) bool { return k.List == nil })
		if want := len(listed) + 1; p.lists != want {
			t.Errorf("%d lists, want %d: one of each kind, and a second page of one", p.lists, want)
		}
	}
}

func TestDoctorNamesWhatCannotBeListedAndAFileOfTypesThatIsMissing(t *testing.T) {
	for want, args := range map[string][]string{"listing Deployment: no route": nil, "--instance-types: ": {"--instance-types", "nowhere.json"}} {
		var out bytes.Buffer
		mode := color.Never
		p := &pages{pools: twoPools(t), deployments: errors.New("no route")}
		cmd := newDoctorWith(console{genericiooptions.IOStreams{Out: &out, ErrOut: &out}, &mode}, examination{
			connect: func(*genericclioptions.ConfigFlags) (client.Reader, error) { return p, nil },
			clock:   clocktesting.NewFakePassiveClock(noon),
		})
		cmd.SetArgs(args)
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// An examination that lacks rights gives no all-clear: it says so, and does not end with status 0
// unless anything may be found.
func TestDoctorGivesNoAllClearOfWhatItMayNotRead(t *testing.T) {
	for form, want := range map[string]string{
		"text": "\nNothing found in what was examined.\n", "json": `"notExamined": [`, "yaml": "notExamined:\n- 'deployments", "markdown": "Not examined:\n- deployments",
		"sarif": `"text": "not examined: deployments`, "junit": `<skipped message="not examined">`,
	} {
		for fail, status := range map[string]int{"error": ExitError, "never": ExitOK} {
			var out bytes.Buffer
			mode := color.Never
			fine := twoPools(t)[0]
			p := &pages{pools: []karpv1.NodePool{fine, fine}, deployments: apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "", errors.New("not yours"))}
			cmd := newDoctorWith(console{genericiooptions.IOStreams{Out: &out, ErrOut: &out}, &mode}, examination{
				connect: func(*genericclioptions.ConfigFlags) (client.Reader, error) { return p, nil },
				clock:   clocktesting.NewFakePassiveClock(noon),
			})
			cmd.SetArgs([]string{"-o", form, "--fail-on", fail})
			if err := cmd.ExecuteContext(t.Context()); ExitCode(err) != status || !strings.Contains(out.String(), want) {
				t.Errorf("--fail-on %s -o %s: %v, want %d and %q:\n%s", fail, form, err, status, want, out.String())
			}
		}
	}
}
