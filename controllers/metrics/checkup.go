package metrics

import "github.com/prometheus/client_golang/prometheus"

// Finding labels what is wrong with how a cluster is set up.
type Finding struct{ Check, Severity string }

type checkup struct{ findings *prometheus.GaugeVec }

func newCheckup() checkup {
	return checkup{prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "millwright_doctor_findings", Help: "What millwright doctor would find of NodePools, agents and budgets, by check.",
	}, []string{"check", "severity"})}
}

func (c checkup) all() []prometheus.Collector { return []prometheus.Collector{c.findings} }

// Findings sets how many findings there are of each check.
func (m *Metrics) Findings(count map[Finding]int) {
	if m == nil {
		return
	}
	m.checkup.findings.Reset()
	for f, n := range count {
		m.checkup.findings.WithLabelValues(f.Check, f.Severity).Set(float64(n))
	}
}
