package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

// Where the simulated cloud reads how it behaves.
const (
	cloudNamespace = metav1.NamespaceSystem
	cloudConfigMap = "millwright-kwok"
)

func newInjectCloud() *cobra.Command {
	var in injection
	cmd := &cobra.Command{
		Use:   "cloud [KNOB [VALUE]]",
		Short: "Script what the simulated cloud does with its machines",
		Long: `Set a knob of Millwright's simulated cloud, or clear it. Without arguments, print
what is set.

The knobs are listed in cloud/kwok/README.md. The cloud says in an Event on the
ConfigMap kube-system/millwright-kwok what it cannot read.`,
		Example: `  sandbox inject cloud neverJoin 'general-*'           # the kubelets of these claims never come
  sandbox inject cloud neverJoin kwok-linux-amd64      # an image that does not register
  sandbox inject cloud joinAs 'general-*=ip-10-0-0-1'  # a Node name that is used again
  sandbox inject cloud bootDelay 20s
  sandbox inject cloud neverJoin --clear
  sandbox inject cloud --clear                         # all knobs`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := in.cloudChange(args)
			if err != nil {
				return err
			}
			client, err := in.client()
			if err != nil {
				return err
			}
			return injectCloud(cmd.Context(), client, cmd.OutOrStdout(), change)
		},
	}
	cmd.Flags().StringVar(&in.kubeconfig, "kubeconfig", "", "kubeconfig of the sandbox (default: $KUBECONFIG)")
	cmd.Flags().BoolVar(&in.clear, "clear", false, "clear instead of set")
	return cmd
}

// cloudChange is what the arguments make of the cloud's knobs.
func (in injection) cloudChange(args []string) (func(map[string]string) error, error) {
	switch {
	case in.clear && len(args) == 0:
		return func(data map[string]string) error { clear(data); return nil }, nil
	case in.clear && len(args) == 1:
		return func(data map[string]string) error { delete(data, args[0]); return nil }, nil
	case in.clear:
		return nil, errors.New("--clear takes no value")
	case len(args) == 1:
		return nil, fmt.Errorf("%s needs a value", args[0])
	case len(args) == 2:
		return func(data map[string]string) error { data[args[0]] = args[1]; return nil }, nil
	}
	return func(map[string]string) error { return nil }, nil
}

// injectCloud changes the knobs and prints what is set then.
func injectCloud(ctx context.Context, client kubernetes.Interface, out io.Writer, change func(map[string]string) error) error {
	var set map[string]string
	err := editCloud(ctx, client, func(data map[string]string) error {
		err := change(data)
		set = maps.Clone(data)
		return err
	})
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if _, err := fmt.Fprintf(out, "%s: %s\n", key, set[key]); err != nil {
			return err
		}
	}
	return nil
}

// editCloud changes the knobs of the simulated cloud. The change may be made more
// than once, each time on what stands then.
func editCloud(ctx context.Context, client kubernetes.Interface, change func(map[string]string) error) error {
	retriable := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	err := retry.OnError(retry.DefaultBackoff, retriable, func() error { return tryEditCloud(ctx, client, change) })
	if err != nil {
		return fmt.Errorf("editing %s/%s: %w", cloudNamespace, cloudConfigMap, err)
	}
	return nil
}

func tryEditCloud(ctx context.Context, client kubernetes.Interface, change func(map[string]string) error) error {
	configs := client.CoreV1().ConfigMaps(cloudNamespace)
	cm, err := configs.Get(ctx, cloudConfigMap, metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return err
	}
	if missing {
		cm = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: cloudConfigMap}}
	}
	if cm.Data == nil {
		cm.Data = map[string]string{}
	}
	before := maps.Clone(cm.Data)
	if err := change(cm.Data); err != nil || maps.Equal(before, cm.Data) {
		return err
	}
	if missing {
		_, err = configs.Create(ctx, cm, metav1.CreateOptions{})
	} else {
		_, err = configs.Update(ctx, cm, metav1.UpdateOptions{})
	}
	return err
}
