package controllers

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"
)

func TestAnObserverSendsNoWritesButEventsAndItsLease(t *testing.T) {
	arrived := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { arrived[r.Method+" "+r.URL.Path] = true }))
	defer server.Close()
	c := &rest.Config{Host: server.URL}
	readOnly(c)
	client, err := rest.HTTPClientFor(c)
	if err != nil {
		t.Fatal(err)
	}
	for request, passes := range map[[2]string]bool{
		{"GET", "/api/v1/nodes"}:                                       true,
		{"POST", "/api/v1/namespaces/default/events"}:                  true,
		{"PATCH", "/api/v1/namespaces/default/events/a"}:               true,
		{"POST", "/apis/events.k8s.io/v1/namespaces/default/events"}:   true,
		{"PUT", "/apis/coordination.k8s.io/v1/namespaces/x/leases/y"}:  true,
		{"POST", "/apis/authentication.k8s.io/v1/tokenreviews"}:        true,
		{"POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews"}: true,
		{"PATCH", "/api/v1/nodes/a"}:                                   false,
		{"PATCH", "/api/v1/nodes/events"}:                              false,
		{"PATCH", "/api/v1/namespaces/default/pods/events/status"}:     false,
		{"POST", "/api/v1/namespaces/default/pods/a/eviction"}:         false,
		{"DELETE", "/api/v1/namespaces/default/pods/a"}:                false,
		{"POST", "/apis/karpenter.sh/v1/nodeclaims"}:                   false,
		{"PATCH", "/apis/karpenter.sh/v1/nodeclaims/a/status"}:         false,
		{"DELETE", "/apis/karpenter.sh/v1/nodeclaims/a"}:               false,
		{"POST", "/api/v1/namespaces/kube-system/configmaps"}:          false,
		{"DELETE", "/apis/storage.k8s.io/v1/volumeattachments/leases"}: false,
	} {
		req, err := http.NewRequestWithContext(t.Context(), request[0], server.URL+request[1], http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		if (err == nil) != passes || arrived[request[0]+" "+request[1]] != passes {
			t.Errorf("%s %s: %v, want it to pass: %t", request[0], request[1], err, passes)
		}
	}
}
