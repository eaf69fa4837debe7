package dump_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/cli/dump"
	"github.com/millwright-dev/millwright/cli/manifest"
)

// server serves one object to a page; it does not know NodePolicies, and refuses Leases.
type server struct {
	client.Reader
	objects []string
	lists   map[string]int
}

func (s *server) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	list, _ := into.(*unstructured.UnstructuredList)
	o := (&client.ListOptions{}).ApplyOptions(opts)
	kind := strings.TrimSuffix(list.GetKind(), "List")
	if o.Continue == "" {
		s.lists[kind]++
	}
	switch {
	case o.Limit == 0:
		return errors.New("the list is not paged")
	case kind == "NodePolicy":
		return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: kind}}
	case kind == "Lease":
		return apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "", errors.New("not yours"))
	}
	n := 0
	for _, text := range s.objects {
		var one unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(text), &one.Object); err != nil {
			return err
		}
		if one.GroupVersionKind() != list.GroupVersionKind().GroupVersion().WithKind(kind) || o.Namespace != "" && o.Namespace != one.GetNamespace() {
			continue
		}
		if n++; o.Continue == "" && n == 1 || o.Continue == "1" && n == 2 {
			list.Items = append(list.Items, one)
		}
	}
	if list.SetContinue(""); o.Continue == "" && n > 1 {
		list.SetContinue("1")
	}
	return nil
}

func TestADumpIsReadAgainAndHoldsNothingSecret(t *testing.T) {
	s := &server{lists: map[string]int{}, objects: []string{`
apiVersion: v1
kind: Node
metadata:
  name: n1
  annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}", a: b}
  managedFields:
  - {manager: kubelet, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:status": {}}, subresource: status, time: "2026-11-20T10:00:00Z"}
  - {manager: kubectl, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {}}, time: "2026-11-20T10:00:00Z"}
`, `
apiVersion: v1
kind: Node
metadata: {name: n2}
`, `
apiVersion: v1
kind: Secret
metadata: {name: hidden, namespace: kube-system}
`, `
apiVersion: v1
kind: ConfigMap
metadata: {name: other, namespace: kube-system}
data: {password: hidden}
`, `
apiVersion: v1
kind: ConfigMap
metadata: {name: scheduler, namespace: kube-system}
data: {a: "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration"}
`, `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.}
`, `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: web}}}
`}}
	var out bytes.Buffer
	var warnings []string
	cmd := dump.New(dump.Config{
		Out: &out, Warn: func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) },
		Connect: func(*genericclioptions.ConfigFlags) (client.Reader, error) { return s, nil },
	})
	cmd.SetArgs(nil)
	if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "incomplete, for want of rights to list Lease:") {
		t.Fatalf("Leases are left out, and it ends with %v", err)
	}
	if text := out.String(); strings.Contains(text, "hidden") || strings.Contains(text, "last-applied") || strings.Contains(text, "kubectl") || strings.Contains(text, "fieldsV1") {
		t.Errorf("written is\n%s", text)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "leases is forbidden: not yours") {
		t.Errorf("warnings %q", warnings)
	}
	for kind, n := range s.lists {
		if n != 1 {
			t.Errorf("%s is listed %d times", kind, n)
		}
	}
	file := filepath.Join(t.TempDir(), "dump.yaml")
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := manifest.Read([]string{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range read.Objects {
		names = append(names, o.String())
	}
	if got := strings.Join(names, ", "); got != "ConfigMap kube-system/scheduler, Node n1, Node n2, APIService v1., PodDisruptionBudget shop/web" {
		t.Errorf("read are %s", got)
	}
	if len(read.Refused) != 1 || read.Refused[0].Details.Kind != "Lease" || !strings.Contains(read.Refused[0].Message, "not yours") {
		t.Errorf("refused are %+v", read.Refused)
	}
}
