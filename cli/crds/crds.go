// Package crds is the command `millwright crds`: it brings the kinds into a cluster and up to
// date, and prints them. What becomes of a definition is decided in deploy/crdupgrade.
package crds

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	client "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/cli/kubeconfig"
	"github.com/millwright-dev/millwright/deploy"
	"github.com/millwright-dev/millwright/deploy/crdupgrade"
)

// New makes the command, which writes to out.
func New(out io.Writer) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "crds",
		Short: "Bring the kinds of NodePools and their like into a cluster, or print them",
	}
	cmd.AddCommand(newUpgrade(out), newPrint(out))
	return cmd
}

func newPrint(out io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:     "print",
		Short:   "Print the CustomResourceDefinitions as manifests",
		Example: "  millwright crds print | kubectl apply --server-side -f -",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			list, err := deploy.CRDs()
			if err != nil {
				return err
			}
			for _, c := range list {
				if _, err := fmt.Fprintf(out, "---\n%s", strings.TrimPrefix(string(c.YAML), "---\n")); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func newUpgrade(out io.Writer) *cobra.Command {
	kube := kubeconfig.ClusterFlags()
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Install the CustomResourceDefinitions, or bring them up to date",
		Long: `Install the CustomResourceDefinitions, or bring them up to date.

A definition that has versions or fields which this version of Millwright does not
know is kept as it is: a newer one is never replaced by an older one.`,
		Example: `  millwright crds upgrade --dry-run
  millwright crds upgrade`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := kubeconfig.Connection(kube)
			if err != nil {
				return err
			}
			set, err := clientset.NewForConfig(cfg)
			if err != nil {
				return fmt.Errorf("connecting: %w", err)
			}
			return Upgrade(cmd.Context(), set.ApiextensionsV1().CustomResourceDefinitions(), out, dryRun)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would be done")
	kube.AddFlags(cmd.Flags())
	return cmd
}

// Upgrade does what is decided about every definition, and returns once those that it wrote
// are served. It goes through all of them before it reports that some could not be replaced.
func Upgrade(ctx context.Context, api client.CustomResourceDefinitionInterface, out io.Writer, dryRun bool) error {
	list, err := deploy.CRDs()
	if err != nil {
		return err
	}
	var refused []string
	for _, c := range list {
		ours := new(apiextensionsv1.CustomResourceDefinition)
		if err := yaml.UnmarshalStrict(c.YAML, ours); err != nil {
			return fmt.Errorf("reading %s: %w", c.File, err)
		}
		u := upgrade{api: api, ours: ours, dryRun: dryRun}
		said, err := u.do(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", ours.Name, err)
		}
		if _, err := fmt.Fprintf(out, "%-40s %s\n", ours.Name, said); err != nil {
			return err
		}
		if u.verdict.Action == crdupgrade.Refuse {
			refused = append(refused, ours.Name)
		}
	}
	if len(refused) > 0 {
		return fmt.Errorf("not replaced: %s. Another version of Karpenter or Millwright brought them; use one that knows both, "+
			"or replace them by force: millwright crds print | kubectl apply --server-side --force-conflicts -f -", strings.Join(refused, ", "))
	}
	return nil
}

// upgrade is about one definition.
type upgrade struct {
	api     client.CustomResourceDefinitionInterface
	ours    *apiextensionsv1.CustomResourceDefinition
	dryRun  bool
	verdict crdupgrade.Verdict
}

func (u *upgrade) do(ctx context.Context) (said string, err error) {
	have, err := u.api.Get(ctx, u.ours.Name, metav1.GetOptions{})
	if errors.IsNotFound(err) {
		have = nil
	} else if err != nil {
		return "", err
	}
	u.verdict = crdupgrade.Decide(have, u.ours)
	switch u.verdict.Action {
	case crdupgrade.Create:
		return u.create(ctx)
	case crdupgrade.Upgrade:
		return u.replace(ctx, have)
	case crdupgrade.Keep:
		said := "kept: the cluster's also has " + few(u.verdict.Theirs)
		if len(u.verdict.Ours) > 0 {
			said += ", and lacks " + few(u.verdict.Ours)
		}
		return said, nil
	}
	return "not replaced: the cluster's also has " + few(u.verdict.Theirs) + "; this version's also has " + few(u.verdict.Ours), nil
}

func (u *upgrade) create(ctx context.Context) (string, error) {
	if u.dryRun {
		return "would be created", nil
	}
	if _, err := u.api.Create(ctx, u.ours, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	return "created", u.served(ctx)
}

func (u *upgrade) replace(ctx context.Context, have *apiextensionsv1.CustomResourceDefinition) (string, error) {
	next := have.DeepCopy()
	next.Spec = u.ours.Spec
	for name, value := range u.ours.Annotations {
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, name, value)
	}
	options := metav1.UpdateOptions{}
	if u.dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	got, err := u.api.Update(ctx, next, options)
	switch {
	case err != nil:
		return "", err
	case got.Generation == have.Generation:
		return "up to date", nil
	case u.dryRun:
		return "would be upgraded", nil
	}
	return "upgraded", u.served(ctx)
}

// served waits until the API server answers for the kind.
func (u *upgrade) served(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		crd, err := u.api.Get(ctx, u.ours.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, c := range crd.Status.Conditions {
			if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until it is served: %w", err)
	}
	return nil
}

// few names the first of some fields.
func few(fields []string) string {
	const most = 5
	if len(fields) <= most {
		return strings.Join(fields, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(fields[:most], ", "), len(fields)-most)
}
