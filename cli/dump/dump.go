// Package dump is `millwright dump`: a cluster as a file, which plan, doctor and adopt read in its
// place.
package dump

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cli/kubeconfig"
	"github.com/millwright-dev/millwright/cli/listing"
	"github.com/millwright-dev/millwright/cli/manifest"
	"github.com/millwright-dev/millwright/doctor/control"
)

// Config is what the command works with.
type Config struct {
	Out io.Writer
	// Warn tells what could not be read.
	Warn func(format string, args ...any)
	// Connect makes a client for the cluster of the flags.
	Connect func(*genericclioptions.ConfigFlags) (client.Reader, error)
}

// New is the command.
func New(c Config) *cobra.Command {
	kube := kubeconfig.ClusterFlags()
	cmd := &cobra.Command{
		Use:   "dump",
		Short: "Write what plan, doctor and adopt read of a cluster to standard output",
		Long: `Write all objects of a cluster that "millwright plan", "millwright doctor" and
"millwright adopt" read, one a line, for a bug report or another machine. Each kind is
listed once, in pages.

Secrets are not read, and of ConfigMaps only those of kube-system that configure
kube-scheduler. Environment variables that are written into pods are among the objects:
look through the file before you pass it on.`,
		Example: `  millwright dump > dump.yaml
  millwright doctor --dump dump.yaml
  millwright plan -f dump.yaml
  millwright adopt karpenter -f dump.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			reader, err := c.Connect(kube)
			if err != nil {
				return err
			}
			return c.write(cmd.Context(), reader)
		},
	}
	kube.AddFlags(cmd.Flags())
	return cmd
}

func (c Config) write(ctx context.Context, reader client.Reader) error {
	var denied []string
	for _, kind := range manifest.Kinds() {
		if kind.Group == control.SchedulerGroup {
			continue // a file, no object
		}
		err := c.list(ctx, reader, kind)
		switch {
		case meta.IsNoMatchError(err): // the cluster does not serve it
		case apierrors.IsForbidden(err):
			denied = append(denied, kind.Kind)
			c.Warn("left out: %v", err)
			if err := c.refused(kind, err); err != nil {
				return err
			}
		case err != nil:
			return fmt.Errorf("listing %s: %w", kind.Kind, err)
		}
	}
	if len(denied) > 0 {
		return fmt.Errorf("the dump is incomplete, for want of rights to list %s: what reads it is told so", strings.Join(denied, ", "))
	}
	return nil
}

// refused writes that a kind may not be listed, so that what reads the dump does not take it
// for missing.
func (c Config) refused(kind schema.GroupVersionKind, err error) error {
	text, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: apierrors.ReasonForError(err),
		Message: err.Error(), Details: &metav1.StatusDetails{Group: kind.Group, Kind: kind.Kind},
	})
	if err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	if _, err := fmt.Fprintf(c.Out, "---\n%s\n", text); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

func (c Config) list(ctx context.Context, reader client.Reader, kind schema.GroupVersionKind) error {
	configMap := kind.Group == "" && kind.Kind == "ConfigMap"
	namespace := metav1.NamespaceAll
	if configMap {
		namespace = metav1.NamespaceSystem
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return listing.Each(ctx, reader, list, func(o *unstructured.Unstructured) error {
		text, err := json.Marshal(trimmed(o))
		if err != nil || configMap && !strings.Contains(string(text), control.SchedulerGroup) {
			return err
		}
		if _, err := fmt.Fprintf(c.Out, "---\n%s\n", text); err != nil {
			return fmt.Errorf("writing: %w", err)
		}
		return nil
	}, client.InNamespace(namespace))
}

// trimmed is an object without the last applied configuration and without its managed fields,
// except the times of a kubelet's reports, which clocks are compared by.
func trimmed(o *unstructured.Unstructured) map[string]any {
	kept := slices.DeleteFunc(o.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return o.GetKind() != "Node" || m.Manager != "kubelet" || m.Subresource != "status"
	})
	for i := range kept {
		kept[i].FieldsV1 = nil
	}
	o.SetManagedFields(kept)
	if annotations := o.GetAnnotations(); annotations != nil {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		o.SetAnnotations(annotations)
	}
	return o.Object
}
