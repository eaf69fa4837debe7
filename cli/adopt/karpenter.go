package adopt

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/transport"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cli/classes"
	"github.com/millwright-dev/millwright/cli/crds"
	"github.com/millwright-dev/millwright/cli/explain"
	"github.com/millwright-dev/millwright/cli/kubeconfig"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/cluster/decode"
	"github.com/millwright-dev/millwright/controllers/servertime"
	"github.com/millwright-dev/millwright/engine/spread"
)

func newKarpenter(c Config) *cobra.Command {
	kube := kubeconfig.ClusterFlags()
	var types string
	var files []string
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "karpenter",
		Short: "Say what becomes of a cluster that Karpenter manages",
		Long: `Say what becomes of a cluster that Karpenter manages: who acts now, which settings have
no counterpart, what becomes of the kinds, which machines would go on the first day and
why, and the bill of each pool. Then the commands that lead over and back. It only reads.

The exit status is 1 if something stands against it: two controllers that would act at
the same time, or a kind that cannot be brought up to date.

With -f the cluster is a dump. What is not in it is not looked at: the definitions of
kinds, and the lease.`,
		Example: `  millwright adopt karpenter --dry-run

  millwright dump > dump.yaml
  millwright adopt karpenter -f dump.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !dryRun {
				return errors.New("--dry-run=false: this command changes nothing; run the commands that it prints")
			}
			found, err := c.Types(types)
			if err != nil {
				return err
			}
			theirs := servertime.New(clock.RealClock{}, nil)
			r := report{Config: c, clock: theirs, types: found, ec2: types == classes.EC2}
			if len(files) > 0 {
				err = r.dump(files)
			} else {
				err = r.connect(kube, theirs.Wrap)
			}
			if err != nil {
				return err
			}
			return r.write(cmd.Context())
		},
	}
	cmd.Flags().StringSliceVarP(&files, "filename", "f", nil, "file, directory or - with a dump of the cluster; may be repeated")
	cmd.Flags().BoolVar(&dryRun, "dry-run", true, "change nothing; the command never does")
	cmd.Flags().StringVar(&types, "instance-types", classes.EC2, "what machines there are, as for millwright plan")
	kube.AddFlags(cmd.Flags())
	return cmd
}

// connect has the report look at the cluster of a kubeconfig; through wraps its transport.
func (r *report) connect(kube *genericclioptions.ConfigFlags, through transport.WrapperFunc) error {
	cfg, err := kubeconfig.Connection(kube)
	if err != nil {
		return err
	}
	cfg.Wrap(through)
	kinds, err := known()
	if err != nil {
		return err
	}
	reader, err := client.New(cfg, client.Options{Scheme: kinds})
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	r.reader = decode.Client(reader)
	definitions, err := clientset.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	r.kinds = func(ctx context.Context, w io.Writer) error {
		return crds.Upgrade(ctx, definitions.ApiextensionsV1().CustomResourceDefinitions(), w, true)
	}
	return nil
}

// known are the kinds that are looked at.
func known() (*runtime.Scheme, error) {
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, cluster.AddToScheme} {
		if err := add(kinds); err != nil {
			return nil, fmt.Errorf("registering kinds: %w", err)
		}
	}
	return kinds, nil
}

const nameLabel = "app.kubernetes.io/name"

// write writes the report.
func (r *report) write(ctx context.Context) error {
	var out bytes.Buffer
	theirs, err := r.deployments(ctx, "karpenter")
	if err != nil {
		return err
	}
	if len(theirs) == 0 {
		return fmt.Errorf("there is no Deployment with the label %s=karpenter: Karpenter is not installed here, or by another way than its chart", nameLabel)
	}
	if err := r.actors(ctx, &out, theirs); err != nil {
		return err
	}
	r.settings(&out, &theirs[0])
	r.spread, _ = spread.Parse(variables(&theirs[0])["SCHEDULER_CONFIG"]) // settings says why it cannot be read
	if r.kinds != nil {
		out.WriteString("\nKinds\n")
		var said bytes.Buffer
		if err := r.kinds(ctx, &said); err != nil {
			r.against("%v", err)
		}
		indent(&out, said.String())
	}
	if err := r.outlook(ctx, &out); err != nil {
		return err
	}
	commands(&out, &theirs[0])
	if len(r.objections) > 0 {
		out.WriteString("\nThis stands against it\n")
		indent(&out, strings.Join(r.objections, "\n"))
	}
	if _, err := r.Streams.Out.Write(out.Bytes()); err != nil {
		return err
	}
	if len(r.objections) > 0 {
		return r.Findings
	}
	return nil
}

func (r *report) against(format string, args ...any) {
	r.objections = append(r.objections, fmt.Sprintf(format, args...))
}

func indent(out *bytes.Buffer, text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		out.WriteString("  " + line + "\n")
	}
}

func (r *report) deployments(ctx context.Context, name string) ([]appsv1.Deployment, error) {
	var list appsv1.DeploymentList
	if err := r.reader.List(ctx, &list, client.MatchingLabels{nameLabel: name}); err != nil {
		return nil, fmt.Errorf("listing Deployments: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b appsv1.Deployment) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list.Items, nil
}

// actors says who acts, and objects to whatever could act at the same time.
func (r *report) actors(ctx context.Context, out *bytes.Buffer, theirs []appsv1.Deployment) error {
	out.WriteString("Who acts\n")
	for i := range theirs {
		d := &theirs[i]
		fmt.Fprintf(out, "  deployment/%s -n %s, %d of %d replicas ready, image %s\n", d.Name, d.Namespace, d.Status.ReadyReplicas, replicas(d), d.Spec.Template.Spec.Containers[0].Image)
		lease := new(coordinationv1.Lease)
		err := r.reader.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: cluster.LeaseName}, lease)
		switch holder := holderOf(lease, r.clock.Now()); {
		case client.IgnoreNotFound(err) != nil:
			return fmt.Errorf("reading the lease: %w", err)
		case r.dumped:
		case holder == "":
			fmt.Fprintf(out, "  lease/%s -n %s is free\n", cluster.LeaseName, d.Namespace)
		default:
			fmt.Fprintf(out, "  lease/%s -n %s is held by %s: Millwright waits for it, if it is installed in this namespace\n", cluster.LeaseName, d.Namespace, holder)
		}
	}
	if len(theirs) > 1 {
		r.against("Karpenter is installed %d times", len(theirs))
	}
	ours, err := r.deployments(ctx, "millwright")
	if err != nil {
		return err
	}
	for i := range ours {
		d := &ours[i]
		mode := cmp.Or(variables(d)["MODE"], "act")
		fmt.Fprintf(out, "  deployment/%s -n %s is there already, mode %s\n", d.Name, d.Namespace, mode)
		if mode == "act" && d.Namespace != theirs[0].Namespace && replicas(d) > 0 && replicas(&theirs[0]) > 0 {
			r.against("Millwright in namespace %s has another lease than Karpenter in %s: both act. Install it in %[2]s", d.Namespace, theirs[0].Namespace)
		}
	}
	return nil
}

// holderOf is the holder of a lease that has not expired, else empty.
func holderOf(lease *coordinationv1.Lease, now time.Time) string {
	if !explain.Held(lease, now) {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

func replicas(d *appsv1.Deployment) int32 {
	if d.Spec.Replicas == nil {
		return 1
	}
	return *d.Spec.Replicas
}

// variables are those of the first container that are written out.
func variables(d *appsv1.Deployment) map[string]string {
	out := map[string]string{}
	for _, v := range d.Spec.Template.Spec.Containers[0].Env {
		if v.ValueFrom == nil {
			out[v.Name] = v.Value
		}
	}
	return out
}

// settings says which of Karpenter's settings do not have their effect here.
func (r *report) settings(out *bytes.Buffer, theirs *appsv1.Deployment) {
	out.WriteString("\nSettings\n")
	n := 0
	for _, v := range theirs.Spec.Template.Spec.Containers[0].Env {
		if v.ValueFrom != nil {
			continue
		}
		if said := r.Settings(v.Name, v.Value); said != "" {
			n++
			fmt.Fprintf(out, "  %s=%s: %s\n", v.Name, v.Value, said)
		}
	}
	if n == 0 {
		out.WriteString("  every setting has the same effect\n")
	}
}

// commands are those of docs/adopt.md, for this release.
func commands(out *bytes.Buffer, theirs *appsv1.Deployment) {
	release := cmp.Or(theirs.Labels["app.kubernetes.io/instance"], theirs.Name)
	ns := theirs.Namespace
	fmt.Fprintf(out, `
The way over, and back
  helm get values %[1]s --namespace %[2]s -o yaml | helm install millwright deploy/chart --namespace %[2]s --values - --set settings.mode=observe --set fullnameOverride=millwright --set serviceAccount.name=millwright --wait
  helm upgrade millwright deploy/chart --namespace %[2]s --reset-then-reuse-values --set settings.mode=act
  kubectl --namespace %[2]s scale deployment %[3]s --replicas=0
  kubectl --namespace %[2]s get lease %[4]s

  helm uninstall millwright --namespace %[2]s && kubectl --namespace %[2]s scale deployment %[3]s --replicas=%[5]d
`, release, ns, theirs.Name, cluster.LeaseName, max(replicas(theirs), 1))
}
