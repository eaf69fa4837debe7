package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/millwright-dev/millwright/api/v1alpha1"
	"github.com/millwright-dev/millwright/cli/manifest"
	"github.com/millwright-dev/millwright/cli/offline"
	"github.com/millwright-dev/millwright/cloud/aws/events"
	"github.com/millwright-dev/millwright/cluster"
	"github.com/millwright-dev/millwright/cluster/decode"
	"github.com/millwright-dev/millwright/engine/interruption"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// readEvents reads files with one event each.
func readEvents(files []string) ([]interruption.Event, error) {
	var out []interruption.Event
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading an event: %w", err)
		}
		list, err := readEvent(body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		out = append(out, list...)
	}
	return out, nil
}

// readEvent reads the body of a message of AWS, or an event in our own words.
func readEvent(body []byte) ([]interruption.Event, error) {
	var head struct {
		DetailType string `json:"detail-type"`
	}
	if err := decode.JSON(body, &head); err != nil {
		return nil, err
	}
	if head.DetailType != "" {
		list, refused := events.Reader{}.Read(body, time.Time{})
		if refused.Refusal != "" {
			return nil, fmt.Errorf("the message would not count: %s (%q)%s", refused.Refusal, head.DetailType, strings.TrimSuffix(": "+refused.Why, ": "))
		}
		return list, nil
	}
	var e interruption.Event
	if err := decode.Strict(body, &e); err != nil {
		return nil, err
	}
	if err := e.Check(); err != nil {
		return nil, err
	}
	return []interruption.Event{e}, nil
}

// cluster reads the manifests. Pools and machines that are missing have
// stand-ins.
func (o policyTest) cluster(c console, events []interruption.Event, now time.Time) (*snapshot.Snapshot, bool, error) {
	input, err := c.survey(o.files, o.recursive)
	if err != nil {
		return nil, false, err
	}
	objects := input.Objects
	if wrong := offline.Faults(objects); len(wrong) > 0 {
		return nil, false, wrong
	}
	store := cluster.NewStore(cluster.Options{Offline: true})
	for _, obj := range append(offline.Complete(objects), pools(objects)...) {
		store.Update(obj)
	}
	store.MarkSynced()
	s := store.Snapshot(now, nil)
	if len(s.Pools) == 0 {
		return nil, false, errors.New("there is no NodePolicy and no NodePool among the manifests")
	}
	for _, e := range events {
		if slices.ContainsFunc(s.Nodes, e.About) {
			return s, false, nil
		}
	}
	s = s.Fork()
	for _, p := range s.Pools {
		for _, e := range events {
			if !slices.ContainsFunc(s.Nodes, func(n *snapshot.Node) bool { return n.Pool() == p.Name && e.About(n) }) {
				s.Nodes = append(s.Nodes, standIn(p, e))
			}
		}
	}
	return s, true, nil
}

// pools are stand-ins for the NodePools that policies name, if there are none.
func pools(objects []manifest.Object) []client.Object {
	var out []client.Object
	named := map[string]bool{}
	for _, o := range objects {
		p, ok := o.Object.(*v1alpha1.NodePolicy)
		if _, isPool := o.Object.(*karpv1.NodePool); isPool {
			return nil
		}
		if !ok {
			continue
		}
		names := p.Spec.NodePools.Names
		if s := p.Spec.NodePools.Selector; s != nil {
			names = []string{"selected-by-" + p.Name}
		}
		for _, name := range names {
			if !named[name] {
				named[name] = true
				out = append(out, &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: wanted(p.Spec.NodePools.Selector)}})
			}
		}
	}
	return out
}

// wanted are labels that a selector matches, as far as it names them.
func wanted(s *metav1.LabelSelector) map[string]string {
	if s == nil {
		return nil
	}
	return s.MatchLabels
}

// standIn is a machine of a pool that an event is about.
func standIn(p *snapshot.Pool, e interruption.Event) *snapshot.Node {
	labels := map[string]string{
		karpv1.NodePoolLabelKey:  p.Name,
		snapshot.RegisteredLabel: "true", snapshot.InitializedLabel: "true", corev1.LabelTopologyZone: e.Zone,
	}
	name := "a machine of " + p.Name
	return &snapshot.Node{
		Name:   name,
		Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}},
		Claim:  &snapshot.Claim{Name: name, Pool: p.Name, Labels: labels, ProviderID: e.Machine},
	}
}
