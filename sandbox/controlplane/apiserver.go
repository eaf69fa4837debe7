package controlplane

import (
	"context"
	"fmt"
	"net"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"github.com/millwright-dev/millwright/sandbox/pki"
)

// startAPIServer starts kube-apiserver on a loopback listener that is open
// already, so that its port cannot be taken by another process in between, and
// returns it with its URL. It serves some time after this returns.
func startAPIServer(cfg Config, bundle *pki.Bundle, etcd string) (*component, string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("listening for kube-apiserver: %w", err)
	}
	audit, err := auditFlags(cfg)
	if err != nil {
		listener.Close()
		return nil, "", err
	}
	opts := options.NewServerRunOptions()
	opts.SecureServing.Listener = listener
	port := listener.Addr().(*net.TCPAddr).Port
	if err := parse(opts.Flags(), append(apiServerFlags(cfg, bundle, etcd, port), audit...)); err != nil {
		listener.Close()
		return nil, "", fmt.Errorf("configuring kube-apiserver: %w", err)
	}
	c := launch("kube-apiserver", func(ctx context.Context) error {
		defer listener.Close()
		if err := opts.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
			return err
		}
		completed, err := opts.Complete(ctx)
		if err != nil {
			return err
		}
		if errs := completed.Validate(); len(errs) > 0 {
			return utilerrors.NewAggregate(errs)
		}
		return app.Run(ctx, completed)
	})
	return c, "https://" + listener.Addr().String(), nil
}

func apiServerFlags(cfg Config, bundle *pki.Bundle, etcd string, port int) []string {
	flags := []string{
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--etcd-servers=" + etcd,
		"--tls-cert-file=" + bundle.ServingCert(),
		"--tls-private-key-file=" + bundle.ServingKey(),
		"--client-ca-file=" + bundle.CACert(),
		"--requestheader-client-ca-file=" + bundle.CACert(),
		"--requestheader-allowed-names=" + pki.FrontProxyName,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + bundle.FrontProxyCert(),
		"--proxy-client-key-file=" + bundle.FrontProxyKey(),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + bundle.ServiceAccountKey(),
		"--service-account-signing-key-file=" + bundle.ServiceAccountKey(),
		"--token-auth-file=" + bundle.TokenFile(),
		"--service-cluster-ip-range=" + ServiceCIDR,
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		// A loopback address is no valid endpoint of the service "kubernetes".
		"--endpoint-reconciler-type=none",
		// One user, one machine: fairness would only add queues.
		"--enable-priority-and-fairness=false",
		"--max-requests-inflight=0",
		"--max-mutating-requests-inflight=0",
		"--profiling=false",
		"--event-ttl=1h",
		// Open watches would otherwise hold the shutdown for over 30 s.
		"--shutdown-delay-duration=0s",
		"--shutdown-watch-termination-grace-period=200ms",
	}
	if cfg.FastNodeFailure {
		flags = append(flags,
			"--default-not-ready-toleration-seconds=5",
			"--default-unreachable-toleration-seconds=5")
	}
	return flags
}
