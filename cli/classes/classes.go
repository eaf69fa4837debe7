// Package classes says which instance types node classes have on the command line, where the
// provider that launches from them does not run.
//
//	--instance-types + EC2NodeClasses of manifests or a cluster + settings ──► Types.Of ──► cluster.Snapshot
package classes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/awsv1"
	"github.com/millwright-dev/millwright/cloud"
	"github.com/millwright-dev/millwright/cloud/aws/instancetype"
	"github.com/millwright-dev/millwright/cloud/aws/offline"
	"github.com/millwright-dev/millwright/cloud/aws/provider"
	"github.com/millwright-dev/millwright/engine/catalog"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Types says which types a node class has, by what EC2NodeClasses say themselves. It is not
// safe for concurrent use.
type Types struct {
	plain    []*catalog.Type
	settings instancetype.Settings
	ec2      *offline.Catalogue // nil if the types are not EC2's
	classes  map[string]*awsv1.EC2NodeClass
	// answers are those of classes, by name, so that one has the same types in every snapshot.
	answers map[string]answer
}

type answer struct {
	types []*catalog.Type
	gaps  []offline.Gap
	err   error
}

// New reads the EC2NodeClasses among some objects, for a controller of these settings.
func New(types []*catalog.Type, s instancetype.Settings, objects []client.Object) (*Types, error) {
	c := &Types{plain: types, settings: s, classes: map[string]*awsv1.EC2NodeClass{}, answers: map[string]answer{}}
	for _, o := range objects {
		if class, ok := o.(*awsv1.EC2NodeClass); ok {
			c.classes[class.Name] = class
		}
		u, ok := o.(*unstructured.Unstructured)
		if !ok || u.GetKind() != provider.Kind || u.GroupVersionKind().Group != provider.Group {
			continue
		}
		class := &awsv1.EC2NodeClass{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, class); err != nil {
			return nil, fmt.Errorf("reading EC2NodeClass %s: %w", u.GetName(), err)
		}
		c.classes[class.Name] = class
	}
	if len(c.classes) > 0 {
		c.ec2, _ = offline.New(types) // types that are not EC2's are taken as they are
	}
	return c, nil
}

// Of is a cluster.TypesFunc.
func (c *Types) Of(ref snapshot.ClassRef) ([]*catalog.Type, error) {
	class := c.classes[ref.Name]
	if ref.Kind != provider.Kind || ref.Group != provider.Group || class == nil || c.ec2 == nil {
		return c.plain, nil
	}
	a, ok := c.answers[ref.Name]
	if !ok {
		a.types, a.gaps, a.err = c.ec2.Types(class, c.settings)
		c.answers[ref.Name] = a
	}
	return a.types, a.err
}

// Unready is why nothing can be launched from the EC2NodeClasses that were asked for, by name.
func (c *Types) Unready() map[string]string {
	out := map[string]string{}
	for name, a := range c.answers {
		var unready *cloud.ClassNotReadyError
		if errors.As(a.err, &unready) {
			out[name] = unready.Reason
		}
	}
	return out
}

// List reads the EC2NodeClasses of a cluster; it has none if it does not know the kind.
func List(ctx context.Context, reader client.Reader) ([]client.Object, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: provider.Group, Version: "v1", Kind: provider.Kind + "List"})
	if err := reader.List(ctx, list); meta.IsNoMatchError(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("listing EC2NodeClasses: %w", err)
	}
	out := make([]client.Object, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	return out, nil
}

// Tell hands over each of the notes; nil has none.
func (c *Types) Tell(note func(format string, args ...any)) {
	if c == nil {
		return
	}
	for _, text := range c.Notes() {
		note("%s", text)
	}
}

// Notes say what the EC2NodeClasses leave open that were asked for, and whose prices stand in.
func (c *Types) Notes() []string {
	if c.ec2 == nil {
		if len(c.classes) == 0 {
			return nil
		}
		return []string{fmt.Sprintf("the instance types are not EC2's, so EC2NodeClasses (%s) change nothing about them", strings.Join(slices.Sorted(maps.Keys(c.classes)), ", "))}
	}
	out := []string{"prices are those of " + c.ec2.Region()}
	for _, name := range slices.Sorted(maps.Keys(c.answers)) {
		var gaps []string
		for _, g := range c.answers[name].gaps {
			gaps = append(gaps, string(g))
		}
		if len(gaps) > 0 {
			out = append(out, fmt.Sprintf("EC2NodeClass %s: %s", name, strings.Join(gaps, "; ")))
		}
	}
	return out
}
