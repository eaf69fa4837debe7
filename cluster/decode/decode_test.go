package decode

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

func pool(t *testing.T, name, spec string) *unstructured.Unstructured {
	t.Helper()
	out := &unstructured.Unstructured{}
	text := fmt.Sprintf(`{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": %q, "uid": %q, "resourceVersion": "7"}, "spec": %s}`, name, name, spec)
	if err := json.Unmarshal([]byte(text), &out.Object); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhatCannotBeReadIsLeftOutAndNamed(t *testing.T) {
	for _, c := range []struct{ spec, fault string }{
		{`{"weight": 3, "limits": {"cpu": "4"}}`, ""},
		{`{"weight": 3, "limits": {"cpu": "1e1.5", "memory": "4Gi"}}`, "spec.limits[cpu]: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
		{`{"weight": 3, "disruption": {"budgets": [{"nodes": "1", "duration": "9999999999h"}]}}`, `spec.disruption.budgets[0].duration: time: invalid duration "9999999999h"`},
		{`{"weight": 3, "template": {"spec": {"taints": ["x", {"key": "k"}, "y"]}}}`, `spec.template.spec.taints[0]: want an object, got the string "x"; spec.template.spec.taints[1]: want an object, got the string "y"`},
	} {
		var got karpv1.NodePool
		if err := Object(pool(t, "p", c.spec), &got); err != nil {
			t.Errorf("%s: %v", c.spec, err)
			continue
		}
		if Fault(&got) != c.fault || got.Name != "p" || got.Spec.Weight == nil || *got.Spec.Weight != 3 {
			t.Errorf("%s: %q is left out, want %q; the rest is %+v", c.spec, Fault(&got), c.fault, got.Spec)
		}
	}
}

// An API server with two NodePools, of which one is refused by Go's types.
func TestAnObjectThatCannotBeReadCostsOnlyItself(t *testing.T) {
	bad, good := pool(t, "bad", `{"limits": {"cpu": "1e1.5"}}`), pool(t, "good", `{"limits": {"cpu": "4"}}`)
	answers := map[string]any{
		"/api":                                metav1.APIVersions{Versions: []string{"v1"}},
		"/apis":                               metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: "karpenter.sh", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "karpenter.sh/v1", Version: "v1"}}}}},
		"/apis/karpenter.sh/v1":               metav1.APIResourceList{GroupVersion: "karpenter.sh/v1", APIResources: []metav1.APIResource{{Name: "nodepools", Kind: "NodePool"}}},
		"/apis/karpenter.sh":                  metav1.APIGroup{Name: "karpenter.sh", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "karpenter.sh/v1", Version: "v1"}}},
		"/api/v1":                             metav1.APIResourceList{GroupVersion: "v1"},
		"/apis/karpenter.sh/v1/nodepools/bad": bad.Object,
		"/apis/karpenter.sh/v1/nodepools": map[string]any{
			"apiVersion": "karpenter.sh/v1", "kind": "NodePoolList", "metadata": map[string]any{"resourceVersion": "9"}, "items": []any{bad.Object, good.Object},
		},
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") != "" {
			if r.URL.Query().Get("sendInitialEvents") != "" {
				_ = json.NewEncoder(w).Encode(map[string]any{"type": "ADDED", "object": bad.Object})
				return
			}
			w.WriteHeader(http.StatusOK)
			<-ctx.Done()
			return
		}
		answer, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
	defer cancel()
	kinds := runtime.NewScheme()
	group := schema.GroupVersion{Group: "karpenter.sh", Version: "v1"}
	metav1.AddToGroupVersion(kinds, group)
	kinds.AddKnownTypes(group, &karpv1.NodePool{}, &karpv1.NodePoolList{})
	cfg := &rest.Config{Host: server.URL}
	reported := make(chan string, 10)
	informers := &Informers{REST: cfg, Scheme: kinds, Report: func(obj client.Object, err error) {
		reported <- fmt.Sprint(obj.GetName(), " ", Fault(obj), " ", err)
	}}
	c, err := cache.New(cfg, cache.Options{Scheme: kinds, NewInformer: informers.New})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.GetInformer(ctx, &karpv1.NodePool{}, cache.BlockUntilSynced(false)); err != nil {
		t.Fatal(err)
	}
	go func() { _ = c.Start(ctx) }() // it ends with ctx
	if !c.WaitForCacheSync(ctx) {
		t.Fatal("the cache never has a list")
	}
	direct, err := client.New(cfg, client.Options{Scheme: kinds})
	if err != nil {
		t.Fatal(err)
	}
	for name, reader := range map[string]client.Reader{"cache": c, "client": Client(direct)} {
		var list karpv1.NodePoolList
		if err := reader.List(ctx, &list); err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range list.Items {
			got = append(got, fmt.Sprintf("%s %t", list.Items[i].Name, Fault(&list.Items[i]) == ""))
		}
		slices.Sort(got)
		if !slices.Equal(got, []string{"bad false", "good true"}) {
			t.Errorf("the %s has %q", name, got)
		}
		var one karpv1.NodePool
		if err := reader.Get(ctx, client.ObjectKey{Name: "bad"}, &one); err != nil || Fault(&one) == "" {
			t.Errorf("the %s has %+v for the one that cannot be read, error %v", name, one, err)
		}
		if err := reader.Get(ctx, client.ObjectKey{Name: "none"}, &one); !apierrors.IsNotFound(err) {
			t.Errorf("the %s has one that does not exist: %v", name, err)
		}
	}
	const want = "bad spec.limits[cpu]: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$' <nil>"
	if said := <-reported; said != want || len(reported) > 0 {
		t.Errorf("reported %q and %d more; want %q", said, len(reported), want)
	}
}
