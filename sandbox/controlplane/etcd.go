package controlplane

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/embed"
)

// etcdQuota is the size at which etcd stops to accept writes. Nothing compacts
// a sandbox but the API server's own five-minute rounds, hence generous.
const etcdQuota = 4 << 30

// startEtcd starts a single-member etcd and returns it with its client URL.
//
// Durability is given up for speed (no fsync): a machine that crashes may lose
// the cluster, a process that is killed does not. The gateway is off since it
// would dial the advertised port 0 for ever. An election of one member does
// not need long ticks.
func startEtcd(ctx context.Context, dir string) (*component, string, error) {
	anyPort := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	cfg := embed.NewConfig()
	cfg.Dir = filepath.Join(dir, "etcd")
	cfg.ListenClientUrls = []url.URL{anyPort}
	cfg.AdvertiseClientUrls = cfg.ListenClientUrls
	cfg.ListenPeerUrls = []url.URL{anyPort}
	cfg.AdvertisePeerUrls = cfg.ListenPeerUrls
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.UnsafeNoFsync = true
	cfg.TickMs = 10
	cfg.ElectionMs = 100
	cfg.QuotaBackendBytes = etcdQuota
	cfg.EnableGRPCGateway = false
	cfg.LogLevel = "warn"
	cfg.WarningUnaryRequestDuration = embed.DefaultWarningUnaryRequestDuration // else of every request
	cfg.LogOutputs = []string{filepath.Join(dir, "etcd.log")}

	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, "", fmt.Errorf("starting etcd: %w", err)
	}
	c := launch("etcd", func(ctx context.Context) error {
		defer server.Close()
		select {
		case <-ctx.Done():
			return nil
		case err := <-server.Err():
			return err
		}
	})
	select {
	case <-server.Server.ReadyNotify():
		return c, "http://" + server.Clients[0].Addr().String(), nil
	case <-c.done:
		return nil, "", c.failure()
	case <-ctx.Done():
		c.halt()
		return nil, "", fmt.Errorf("waiting for etcd: %w", context.Cause(ctx))
	}
}
