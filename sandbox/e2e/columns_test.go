package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What `kubectl get` prints comes from the API server's tables: Karpenter's
// columns must be there and filled in, and everything Ready; of a NodePolicy also
// whether all of it means something.
func TestKubectlShowsKarpentersColumnsFilledIn(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.millwright()
	c.manifests(class + "---" + pool("blue", "amd64") + "---" + deployment("web", "blue", 5, "1", "1Gi"))
	c.manifests(`
apiVersion: millwright.dev/v1alpha1
kind: NodePolicy
metadata: {name: night}
spec: {priority: 1, nodePools: {names: [blue]}, disruption: {windows: [{schedule: "@daily", duration: 1h, timeZone: Europe/Atlantis}]}}
`)
	c.eventually(patience, c.running("app=web", 5))

	for path, columns := range map[string][]string{
		"/apis/karpenter.sh/v1/nodepools":            {"NodeClass", "Nodes", "Ready", "CPU", "Memory"},
		"/apis/karpenter.sh/v1/nodeclaims":           {"Type", "Capacity", "Zone", "Node", "Ready", "ID", "NodePool", "NodeClass"},
		"/apis/millwright.dev/v1alpha1/nodepolicies": {"Priority", "NodePools", "Ready", "Overridden", "Valid"},
		"/api/v1/nodes":                              {"Status", "Version"},
	} {
		c.eventually(patience, func() error { return c.filledIn(path, columns) })
	}
	// That its class goes is all that happens to this pool.
	c.manifests(pool("calm", "amd64"))
	c.eventually(patience, func() error { return c.poolSays("calm", "Ready", "") })
	c.must(c.dynamic.Resource(kwokClasses).Delete(c.Context(), "default", metav1.DeleteOptions{}))
	c.eventually(promised(5*time.Second), func() error {
		if c.poolSays("calm", "Ready", "") == nil {
			return errors.New("a NodePool is Ready without its class")
		}
		return nil
	})
	c.eventually(patience, func() error {
		return c.eventSays("ValidationFailed", `spec.disruption.windows[0].timeZone: time zone "Europe/Atlantis" is not known`)
	})
}

func (c *cluster) filledIn(path string, columns []string) error {
	body, err := c.client.CoreV1().RESTClient().Get().AbsPath(path).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(c.Context())
	if err != nil {
		return err
	}
	var table metav1.Table
	if err := json.Unmarshal(body, &table); err != nil {
		return err
	}
	if len(table.Rows) == 0 {
		return fmt.Errorf("%s: no rows", path)
	}
	for _, column := range columns {
		i := slices.IndexFunc(table.ColumnDefinitions, func(d metav1.TableColumnDefinition) bool { return d.Name == column })
		if i < 0 {
			return fmt.Errorf("%s: no column %s", path, column)
		}
		for _, row := range table.Rows {
			switch cell := fmt.Sprint(row.Cells[i]); {
			case cell == "" || cell == "<nil>" || cell == "0":
				return fmt.Errorf("%s: column %s is empty", path, column)
			case column == "Ready" && cell != "True", column == "Valid" && cell != "False", column == "Status" && cell != "Ready":
				return fmt.Errorf("%s: column %s says %q", path, column, cell)
			}
		}
	}
	return nil
}
