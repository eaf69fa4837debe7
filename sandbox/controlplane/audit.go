package controlplane

import (
	"fmt"
	"os"
	"path/filepath"
)

// auditPolicy records who asked for what and what the answer was, not the objects. Watches
// are recorded when they begin, for they may outlive the server.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, userGroups: ["system:serviceaccounts"]}
- {level: None}
`

// auditFlags are those by which an API server keeps the log that cfg asks for.
func auditFlags(cfg Config) ([]string, error) {
	if cfg.AuditLog == "" {
		return nil, nil
	}
	policy := filepath.Join(cfg.Dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, fmt.Errorf("writing the audit policy: %w", err)
	}
	return []string{"--audit-policy-file=" + policy, "--audit-log-path=" + cfg.AuditLog}, nil
}
