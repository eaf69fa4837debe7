package cli

import (
	"io"
	"time"

	"github.com/millwright-dev/millwright/cli/explain"
)

// verifiedDoc is what verify prints for programs. The format is a contract: fields
// are added, never changed.
type verifiedDoc struct {
	Verified bool         `json:"verified"`
	Problems []string     `json:"problems"`
	Machines []machineDoc `json:"machines"`
}

type machineDoc struct {
	Claim       string         `json:"nodeClaim"`
	Node        string         `json:"node,omitempty"`
	Pool        string         `json:"nodePool,omitempty"`
	Initialized bool           `json:"initialized"`
	Since       time.Time      `json:"initializedSince,omitzero"`
	Gates       []explain.Gate `json:"gates"`
}

// reportDocument prints what came of a verification for programs.
func reportDocument(w io.Writer, format string, all []*explain.Machine, problems []string) error {
	doc := verifiedDoc{Verified: len(problems) == 0, Problems: append([]string{}, problems...), Machines: []machineDoc{}}
	for _, m := range all {
		doc.Machines = append(doc.Machines, document(m))
	}
	if err := printDocument(w, format, doc); err != nil {
		return err
	}
	if !doc.Verified {
		return errFindings
	}
	return nil
}

func document(m *explain.Machine) machineDoc {
	at, ok := m.Initialized()
	out := machineDoc{Claim: m.Claim.Name, Node: m.Node, Pool: m.Claim.Pool, Initialized: ok, Gates: m.Gates()}
	if ok {
		out.Since = at.UTC()
	}
	return out
}
