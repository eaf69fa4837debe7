package kwok

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Labels of the records.
const (
	recordLabel = "millwright.dev/kwok-machine"
	// nodeLabel is a hash of the machine's name, which may be too long for a label.
	nodeLabel = "millwright.dev/kwok-node"
	recordKey = "machine.json"
)

// records keeps one ConfigMap per machine.
type records struct {
	client client.Client
	// live reads past any cache.
	live      client.Reader
	namespace string
}

// recordName derives from the token alone, so that a second launch with the same
// token finds the first one's record, also of another process.
func recordName(token string) string { return "kwok-machine-" + token }

func checkToken(token string) error {
	if problems := validation.IsDNS1123Subdomain(recordName(token)); len(problems) > 0 {
		return fmt.Errorf("launch token %q: %s", token, strings.Join(problems, ", "))
	}
	return nil
}

func hash(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

// get reads a machine by token; nil if there is none.
func (r *records) get(ctx context.Context, token string) (*machine, error) {
	var cm corev1.ConfigMap
	err := r.live.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: recordName(token)}, &cm)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the machine of token %s: %w", token, err)
	}
	return decode(&cm)
}

// byName finds the machine of a name that is not gone; nil if there is none.
func (r *records) byName(ctx context.Context, reader client.Reader, name string) (*machine, error) {
	machines, err := r.query(ctx, reader, client.MatchingLabels{nodeLabel: hash(name)})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(machines, func(m *machine) bool { return m.Claim == name && m.State != gone })
	if i < 0 {
		return nil, nil
	}
	return machines[i], nil
}

// list reads all machines, by name and token. With an error that is not about
// the listing itself it still returns those that could be read.
func (r *records) list(ctx context.Context) ([]*machine, error) {
	return r.query(ctx, r.client, client.MatchingLabels{recordLabel: "true"})
}

func (r *records) query(ctx context.Context, reader client.Reader, labels client.MatchingLabels) ([]*machine, error) {
	var list corev1.ConfigMapList
	if err := reader.List(ctx, &list, client.InNamespace(r.namespace), labels); err != nil {
		return nil, fmt.Errorf("listing machines: %w", err)
	}
	machines := make([]*machine, 0, len(list.Items))
	var unreadable []error
	for i := range list.Items {
		m, err := decode(&list.Items[i])
		if err != nil {
			unreadable = append(unreadable, err)
			continue
		}
		machines = append(machines, m)
	}
	slices.SortFunc(machines, func(a, b *machine) int {
		if c := strings.Compare(a.Claim, b.Claim); c != 0 {
			return c
		}
		return strings.Compare(a.Token, b.Token)
	})
	return machines, errors.Join(unreadable...)
}

// create makes the record, and reports false if the token has one already.
func (r *records) create(ctx context.Context, m *machine) (bool, error) {
	cm, err := r.encode(m)
	if err != nil {
		return false, err
	}
	err = r.client.Create(ctx, cm)
	if apierrors.IsAlreadyExists(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("recording machine %s: %w", m.Claim, err)
	}
	m.resourceVersion = cm.ResourceVersion
	return true, nil
}

// update writes the machine unless its record has changed since it was read; the
// error is then a conflict.
func (r *records) update(ctx context.Context, m *machine) error {
	cm, err := r.encode(m)
	if err != nil {
		return err
	}
	if err := r.client.Update(ctx, cm); err != nil {
		return fmt.Errorf("recording machine %s: %w", m.Claim, err)
	}
	m.resourceVersion = cm.ResourceVersion
	return nil
}

func (r *records) delete(ctx context.Context, m *machine) error {
	cm := &corev1.ConfigMap{}
	cm.Namespace, cm.Name = r.namespace, recordName(m.Token)
	if err := client.IgnoreNotFound(r.client.Delete(ctx, cm)); err != nil {
		return fmt.Errorf("forgetting machine %s: %w", m.Claim, err)
	}
	return nil
}

func (r *records) encode(m *machine) (*corev1.ConfigMap, error) {
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("recording machine %s: %w", m.Claim, err)
	}
	cm := &corev1.ConfigMap{Data: map[string]string{recordKey: string(raw)}}
	cm.Namespace, cm.Name, cm.ResourceVersion = r.namespace, recordName(m.Token), m.resourceVersion
	cm.Labels = map[string]string{recordLabel: "true", nodeLabel: hash(m.Claim)}
	return cm, nil
}

func decode(cm *corev1.ConfigMap) (*machine, error) {
	m := &machine{resourceVersion: cm.ResourceVersion}
	if err := json.Unmarshal([]byte(cm.Data[recordKey]), m); err != nil {
		return nil, fmt.Errorf("reading ConfigMap %s/%s, key %s: %w", cm.Namespace, cm.Name, recordKey, err)
	}
	return m, nil
}
