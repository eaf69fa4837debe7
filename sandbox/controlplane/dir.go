package controlplane

import (
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// lockDir makes sure that no other process uses dir at the same time.
func lockDir(dir string) (func(), error) {
	lock, err := fileutil.TryLockFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking %s, which another sandbox may be using: %w", dir, err)
	}
	return func() { lock.Close() }, nil
}
