package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/millwright-dev/millwright/sandbox/knobs"
)

// injection is one call of "sandbox inject".
type injection struct {
	kubeconfig          string
	node, pv, pod, zone string
	clear               bool
}

func newInject() *cobra.Command {
	var in injection
	cmd := &cobra.Command{
		Use:   "inject [KNOB [VALUE]]",
		Short: "Script what the machines of a running cluster do",
		Long:  "Set a knob for everything or for one object, or clear it.\nWithout arguments, print what is set.\n\n" + table(),
		Example: `  sandbox inject detach-delay 20s
  sandbox inject detach-hang --node ip-10-0-0-1
  sandbox inject detach-hang --node ip-10-0-0-1 --clear
  sandbox inject kubelet-silent --zone us-east-1a
  sandbox inject detach-hang --clear      # for everything and every object
  sandbox inject --clear                  # all knobs`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := in.client()
			if err != nil {
				return err
			}
			return in.run(cmd.Context(), client, cmd.OutOrStdout(), args)
		},
	}
	cmd.AddCommand(newInjectInterruption(), newInjectCloud(), newInjectAWS())
	flags := cmd.Flags()
	flags.StringVar(&in.kubeconfig, "kubeconfig", "", "kubeconfig of the sandbox (default: $KUBECONFIG)")
	flags.StringVar(&in.node, "node", "", "for this node only")
	flags.StringVar(&in.pv, "pv", "", "for this PersistentVolume only")
	flags.StringVar(&in.pod, "pod", "", "for this pod only, <namespace>/<name>")
	flags.StringVar(&in.zone, "zone", "", "for the nodes of this zone only")
	flags.BoolVar(&in.clear, "clear", false, "clear instead of set")
	cmd.MarkFlagsMutuallyExclusive("node", "pv", "pod", "zone")
	return cmd
}

func (in injection) client() (kubernetes.Interface, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = in.kubeconfig
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig: %w", err)
	}
	return kubernetes.NewForConfig(cfg)
}

func (in injection) run(ctx context.Context, client kubernetes.Interface, out io.Writer, args []string) error {
	change, err := in.change(args)
	if err != nil {
		return err
	}
	if change != nil {
		if err := knobs.Edit(ctx, client, change); err != nil {
			return err
		}
	}
	return show(ctx, client, out)
}

// change is what the arguments ask for; nil if they only ask to be shown.
func (in injection) change(args []string) (func(map[string]string), error) {
	scope, object := in.target()
	if len(args) == 0 {
		if scope != "" {
			return nil, errors.New("which knob?")
		}
		if in.clear {
			return func(data map[string]string) { clear(data) }, nil
		}
		return nil, nil
	}
	knob, ok := knobs.Find(args[0])
	if !ok {
		return nil, fmt.Errorf("no knob %q, see \"sandbox inject --help\"", args[0])
	}
	if in.clear {
		return in.clearing(knob, args[1:])
	}
	value := "true"
	if len(args) == 2 {
		value = args[1]
	} else if knob.Kind != knobs.Switch {
		return nil, fmt.Errorf("%s needs a %s", knob.Name, knob.Kind)
	}
	key, err := knobs.Key(knob, scope, object)
	if err != nil {
		return nil, err
	}
	return func(data map[string]string) { data[key] = value }, knob.Validate(value)
}

// clearing removes one entry of a knob or, without an object, all of them.
func (in injection) clearing(knob knobs.Knob, rest []string) (func(map[string]string), error) {
	if len(rest) > 0 {
		return nil, errors.New("--clear takes no value")
	}
	scope, object := in.target()
	if scope == "" {
		return func(data map[string]string) {
			maps.DeleteFunc(data, func(key, _ string) bool {
				name, _, _ := strings.Cut(key, ".")
				return name == knob.Name
			})
		}, nil
	}
	key, err := knobs.Key(knob, scope, object)
	return func(data map[string]string) { delete(data, key) }, err
}

func (in injection) target() (knobs.Scope, string) {
	switch {
	case in.node != "":
		return knobs.ScopeNode, in.node
	case in.pv != "":
		return knobs.ScopeVolume, in.pv
	case in.pod != "":
		return knobs.ScopePod, in.pod
	case in.zone != "":
		return knobs.ScopeZone, in.zone
	default:
		return "", ""
	}
}

// show prints what is set now.
func show(ctx context.Context, client kubernetes.Interface, out io.Writer) error {
	cm, err := client.CoreV1().ConfigMaps(knobs.Namespace).Get(ctx, knobs.ConfigMap, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading settings: %w", err)
	}
	for _, key := range slices.Sorted(maps.Keys(cm.Data)) {
		fmt.Fprintf(out, "%s: %s\n", key, cm.Data[key])
	}
	return nil
}

// table describes all knobs.
func table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KNOB\tVALUE\tDEFAULT\tFOR ONE\t")
	for _, k := range knobs.All() {
		var scopes []string
		for _, s := range k.Scopes {
			scopes = append(scopes, string(s))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", k.Name, k.Kind, k.Default, strings.Join(scopes, ","), k.Help)
	}
	w.Flush()
	return b.String()
}
