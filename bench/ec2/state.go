package ec2

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/bench/ec2/stage"
	"github.com/millwright-dev/millwright/cloud/aws/awstest"
	"github.com/millwright-dev/millwright/sandbox/aws"
)

// state is a cluster and its AWS at one instant.
type state struct {
	at        time.Time
	instances map[string]aws.Instance // that are alive, by ID
	pods      map[types.UID]string    // Nodes of the workloads' pods that run
	evictions int
	// objects are facts about objects: by kind and name, then by path.
	objects map[string]map[string]string
	left    aws.Left
}

// kinds are those whose objects a handover must leave alone.
var kinds = map[string]schema.GroupVersionResource{
	"NodePool": stage.NodePools, "NodeClaim": stage.NodeClaims, "EC2NodeClass": stage.Classes, "Node": corev1.SchemeGroupVersion.WithResource("nodes"),
}

func (w *world) state(ctx context.Context) (*state, error) {
	s := &state{at: time.Now(), pods: map[types.UID]string{}, objects: map[string]map[string]string{}}
	var err error
	if s.instances, err = w.Alive(ctx); err != nil {
		return nil, err
	}
	if s.left, err = w.AWS.Left(ctx); err != nil {
		return nil, err
	}
	v := w.Seen.Now()
	s.evictions = v.Evictions
	for _, p := range v.Pods {
		if !p.Leaving && !p.Over && !p.Running.IsZero() {
			s.pods[p.UID] = p.Node
		}
	}
	for kind, resource := range kinds {
		list, err := w.Dynamic.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			s.objects[kind+" "+list.Items[i].GetName()] = facts(&list.Items[i])
		}
	}
	return s, nil
}

// facts are what an object says, by path; times, versions and what a kubelet reports are left
// out.
func facts(o *unstructured.Unstructured) map[string]string {
	out := map[string]string{"uid": string(o.GetUID())}
	for key, value := range o.GetLabels() {
		out["label "+key] = value
	}
	for key, value := range o.GetAnnotations() {
		out["annotation "+key] = value
	}
	for _, f := range o.GetFinalizers() {
		out["finalizer "+f] = "there"
	}
	if o.GetDeletionTimestamp() != nil {
		out["deletionTimestamp"] = "there"
	}
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	for key, value := range spec {
		out["spec."+key] = fmt.Sprint(value)
	}
	if o.GetKind() == "Node" {
		return out
	}
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	for key, value := range status {
		if key != "conditions" {
			out["status."+key] = fmt.Sprint(value)
		}
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok {
			out[fmt.Sprintf("condition %v", c["type"])] = fmt.Sprint(c["status"])
		}
	}
	return out
}

// Difference is one that two states of the same objects show.
type Difference struct {
	// Kind and Path say of what; How is appeared, changed or went.
	Kind, Path, How string
	// Objects is of how many; Example is the name of one with what it was and is.
	Objects int
	Example string
}

// differences compares the facts about objects that are in both, and names those that came
// or went.
func differences(before, after *state) []Difference {
	count := map[[3]string]*Difference{}
	note := func(object, path, how, example string) {
		kind, name, _ := strings.Cut(object, " ")
		key := [3]string{kind, path, how}
		if count[key] == nil {
			count[key] = &Difference{kind, path, how, 0, name + example}
		}
		count[key].Objects++
	}
	for object, then := range before.objects {
		now, ok := after.objects[object]
		if !ok {
			note(object, "object", "went", "")
		}
		for path, was := range then {
			if is, there := now[path]; ok && !there {
				note(object, path, "went", ": was "+was)
			} else if there && is != was {
				note(object, path, "changed", ": "+was+" → "+is)
			}
		}
		for path, is := range now {
			if _, there := then[path]; !there {
				note(object, path, "appeared", ": "+is)
			}
		}
	}
	for object := range after.objects {
		if _, ok := before.objects[object]; !ok {
			note(object, "object", "appeared", "")
		}
	}
	out := make([]Difference, 0, len(count))
	for _, d := range count {
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b Difference) int {
		return strings.Compare(a.Kind+a.Path+a.How, b.Kind+b.Path+b.How)
	})
	return out
}

// changes are the calls since a time that change something in AWS; dry runs and what reads
// are left out, and what the volume driver does.
func changes(record []awstest.Call, since time.Time) []awstest.Call {
	return slices.DeleteFunc(record, func(c awstest.Call) bool {
		_, name, _ := strings.Cut(c.Action, ":")
		reads := strings.HasPrefix(name, "Describe") || strings.HasPrefix(name, "Get") || strings.HasPrefix(name, "List")
		return reads || c.Error != "" || c.Caller == aws.DriverKey || !c.At.After(since)
	})
}
