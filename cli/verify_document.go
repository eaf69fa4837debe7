package cli

import (
	"io"
	"time"
)

// verifiedDoc is what verify prints for programs. The format is a contract: fields
// are added, never changed.
type verifiedDoc struct {
	Verified bool         `json:"verified"`
	Problems []string     `json:"problems"`
	Machines []machineDoc `json:"machines"`
}

type machineDoc struct {
	Claim       string    `json:"nodeClaim"`
	Node        string    `json:"node,omitempty"`
	Pool        string    `json:"nodePool,omitempty"`
	Initialized bool      `json:"initialized"`
	Since       time.Time `json:"initializedSince,omitzero"`
	Gates       []gateDoc `json:"gates"`
}

type gateDoc struct {
	Name  string    `json:"name"`
	Open  bool      `json:"open"`
	Since time.Time `json:"since,omitzero"`
	// Reason, Message and Next are those of a closed gate.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Next    string `json:"next,omitempty"`
}

// reportDocument prints what came of a verification for programs.
func reportDocument(w io.Writer, format string, all []*machine, problems []string) error {
	doc := verifiedDoc{Verified: len(problems) == 0, Problems: append([]string{}, problems...), Machines: []machineDoc{}}
	for _, m := range all {
		doc.Machines = append(doc.Machines, m.document())
	}
	if err := printDocument(w, format, doc); err != nil {
		return err
	}
	if !doc.Verified {
		return errFindings
	}
	return nil
}

func (m *machine) document() machineDoc {
	at, ok := m.initialized()
	out := machineDoc{Claim: m.claim.Name, Node: m.node, Pool: m.claim.Pool, Initialized: ok, Gates: []gateDoc{}}
	if ok {
		out.Since = at.UTC()
	}
	for _, g := range m.step.Gates {
		gate := gateDoc{Name: string(g.Name), Open: g.Open}
		if !g.Since.IsZero() {
			gate.Since = g.Since.UTC()
		}
		if !g.Open {
			gate.Reason, gate.Message, gate.Next = string(g.Reason.Code), g.Reason.Message(), g.Next.String()
		}
		out.Gates = append(out.Gates, gate)
	}
	return out
}
