package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/cli/explain"
	"github.com/millwright-dev/millwright/cli/kubeconfig"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/engine/attachment"
	"github.com/millwright-dev/millwright/engine/plan"
)

// attachmentsQuery is one call of `millwright attachments`.
type attachmentsQuery struct {
	kube    *genericclioptions.ConfigFlags
	connect func(*genericclioptions.ConfigFlags) (client.Reader, error)
	clock   clock.PassiveClock
	output  string
}

func newAttachments(c console) *cobra.Command {
	connect, theirs := timed()
	return newAttachmentsWith(c, attachmentsQuery{connect: connect, clock: theirs})
}

func newAttachmentsWith(c console, q attachmentsQuery) *cobra.Command {
	q.kube = kubeconfig.ClusterFlags()
	cmd := &cobra.Command{
		Use:   "attachments",
		Short: "List the VolumeAttachments that something is wrong with",
		Long: `List the VolumeAttachments that something is wrong with: their Node, their driver
or their volume is gone, or they are not attached or detached in time. Pods that
want such a volume wait for it.

` + exitCodes("something is wrong with a VolumeAttachment"),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("output", q.output, formatTable, formatJSON, formatYAML); err != nil {
				return err
			}
			reader, err := q.connect(q.kube)
			if err != nil {
				return err
			}
			faults, err := q.faults(cmd.Context(), reader)
			if err != nil {
				return err
			}
			if err := q.print(c.Out, faults); err != nil {
				return err
			}
			if len(faults) > 0 {
				return errFindings
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&q.output, "output", "o", formatTable, "table, json or yaml")
	complete(cmd, "output", formatTable, formatJSON, formatYAML)
	q.kube.AddFlags(cmd.Flags())
	return cmd
}

func (q attachmentsQuery) faults(ctx context.Context, reader client.Reader) ([]attachment.Fault, error) {
	// Any Node counts, also one that Millwright would not plan with.
	in := &inventory{store: cluster.NewStore(cluster.Options{Offline: true})}
	if err := in.add(ctx, reader, &corev1.NodeList{}, &storagev1.VolumeAttachmentList{}, &storagev1.CSINodeList{}, &corev1.PersistentVolumeList{}); err != nil {
		return nil, err
	}
	if len(in.unread) > 0 {
		return nil, fmt.Errorf("not readable for you: %s", strings.Join(in.unread, ", "))
	}
	return attachment.Faults(in.store.Snapshot(q.clock.Now(), nil)), nil
}

// faultDocument is one fault in JSON and YAML.
type faultDocument struct {
	Attachment string           `json:"attachment"`
	Node       string           `json:"node"`
	Driver     string           `json:"driver"`
	Reason     plan.Code        `json:"reason"`
	Message    string           `json:"message"`
	Remedy     string           `json:"remedy"`
	Since      time.Time        `json:"since"`
	Objects    []plan.ObjectRef `json:"objects"`
}

func (q attachmentsQuery) print(w io.Writer, faults []attachment.Fault) error {
	docs := make([]faultDocument, len(faults))
	for i, f := range faults {
		docs[i] = faultDocument{
			Attachment: f.Attachment.Name, Node: f.Attachment.Spec.NodeName, Driver: f.Attachment.Spec.Attacher,
			Reason: f.Code, Message: f.Message(), Remedy: f.Remedy(), Since: f.Since.UTC(), Objects: f.Objects,
		}
	}
	if q.output != formatTable {
		return printDocument(w, q.output, docs)
	}
	if len(docs) == 0 {
		_, err := fmt.Fprintln(w, "Nothing is wrong with any attachment.")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "ATTACHMENT\tNODE\tVOLUME\tREASON\tSINCE")
	for i, d := range docs {
		volume := "-"
		if len(faults[i].Objects) > 2 {
			volume = faults[i].Objects[len(faults[i].Objects)-1].String()
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", d.Attachment, d.Node, volume, d.Reason, explain.Stamp(d.Since))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nWhat to do:")
	for _, d := range docs {
		fmt.Fprintf(w, "  %s: %s\n", d.Attachment, d.Remedy)
	}
	return nil
}
