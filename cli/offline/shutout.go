package offline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/doctor"
	"github.com/millwright-dev/millwright/engine/plan"
)

// ShutOut are the pods of the system that a plan launches machines for because they lack a
// toleration of nodes that are no pool's and that are often meant for them.
func ShutOut(p *plan.Plan, objects []client.Object) []string {
	in := doctor.New(objects, false)
	pods := map[string][]string{} // by what keeps them away
	for _, n := range p.NewNodes {
		for _, pod := range n.Pods {
			if pod.Namespace != metav1.NamespaceSystem {
				continue
			}
			group, taints := in.Nearest(pod.Class)
			if len(taints) == 0 {
				continue
			}
			texts := make([]string, len(taints))
			for i := range taints {
				texts[i] = taints[i].ToString()
			}
			why := fmt.Sprintf("%s of %s", strings.Join(texts, " and "), group)
			pods[why] = append(pods[why], pod.Name)
		}
	}
	var out []string
	for _, why := range slices.Sorted(maps.Keys(pods)) {
		out = append(out, fmt.Sprintf("of namespace kube-system, machines are launched for %s, which lack a toleration of %s; millwright doctor has the fix", strings.Join(pods[why], ", "), why))
	}
	return out
}
