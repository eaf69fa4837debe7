package harness

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Applier applies manifests with server-side apply, as kubectl apply
// --server-side does. It is not safe for concurrent use.
type Applier struct {
	dynamic dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

// NewApplier connects to a cluster.
func NewApplier(cfg *rest.Config) (*Applier, error) {
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	return &Applier{dyn, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))}, nil
}

// Files applies every manifest below the paths, in the order of their names,
// and waits until the CustomResourceDefinitions among them are served.
func (a *Applier) Files(ctx context.Context, paths ...string) error {
	files, err := manifestFiles(paths)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := a.file(ctx, file); err != nil {
			return fmt.Errorf("applying %s: %w", file, err)
		}
	}
	return nil
}

func manifestFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(p)) {
				files = append(files, p)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("looking for manifests: %w", err)
		}
	}
	return files, nil
}

func (a *Applier) file(ctx context.Context, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return a.Stream(ctx, f)
}

// Text applies manifests given as text.
func (a *Applier) Text(ctx context.Context, manifests string) error {
	return a.Stream(ctx, strings.NewReader(manifests))
}

// Stream applies every document of a multi-document stream.
func (a *Applier) Stream(ctx context.Context, r io.Reader) error {
	decoder := yaml.NewYAMLOrJSONDecoder(bufio.NewReader(r), 4096)
	for {
		obj := &unstructured.Unstructured{}
		if err := decoder.Decode(obj); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("decoding: %w", err)
		}
		if len(obj.Object) == 0 {
			continue
		}
		if err := a.Object(ctx, obj); err != nil {
			return fmt.Errorf("%s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
	}
}

// Object applies one object.
func (a *Applier) Object(ctx context.Context, obj *unstructured.Unstructured) error {
	resource, err := a.resource(obj)
	if err != nil {
		return err
	}
	applied, err := resource.Apply(ctx, obj.GetName(), obj, metav1.ApplyOptions{FieldManager: "kubectl", Force: true})
	if err != nil {
		return err
	}
	if applied.GetKind() == "CustomResourceDefinition" {
		return a.served(ctx, resource, applied.GetName())
	}
	return nil
}

// Patch merges a JSON patch document into an object that exists.
func (a *Applier) Patch(ctx context.Context, obj *unstructured.Unstructured, mergePatch string) error {
	resource, err := a.resource(obj)
	if err != nil {
		return err
	}
	_, err = resource.Patch(ctx, obj.GetName(), types.MergePatchType, []byte(mergePatch), metav1.PatchOptions{})
	return err
}

func (a *Applier) resource(obj *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := obj.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		a.mapper.Reset()
		mapping, err = a.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return a.dynamic.Resource(mapping.Resource), nil
	}
	namespace := obj.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return a.dynamic.Resource(mapping.Resource).Namespace(namespace), nil
}

// served waits until the API server answers for a new kind.
func (a *Applier) served(ctx context.Context, crds dynamic.ResourceInterface, name string) error {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		crd, err := crds.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
				return true, nil
			}
		}
		return false, nil
	})
}
