package interruption

import (
	"github.com/millwright-dev/millwright/engine/interruption/restart"
	"github.com/millwright-dev/millwright/engine/plan"
	"github.com/millwright-dev/millwright/engine/snapshot"
)

// Notice is something that people are told, wherever they are: that they are asked, what
// became of the question, or that a rule of theirs is carried out.
type Notice struct {
	// ID is the same as long as it is about the same.
	ID string
	// Request and Phase are the DisruptionRequest that it is about, and how it stands; empty
	// for a notice about a machine.
	Request string
	Phase   snapshot.RequestPhase
	// Node is the machine of other notices, Verdict what is done to it now.
	Node    *snapshot.Node
	Action  snapshot.InterruptionAction
	Verdict *Verdict
}

// Notices are what people have not been told yet of the requests, as they were written last,
// and what a policy's rules do to machines now, without having asked. What is done where no
// rule matches, and what changes nothing, is not among them.
func (d *Decision) Notices(s *snapshot.Snapshot) []Notice {
	var out []Notice
	for _, r := range s.Requests {
		if r.Phase != "" && r.Phase != r.Told {
			out = append(out, Notice{ID: r.Name + "/" + string(r.Phase) + "/" + stamp(r.Since), Request: r.Name, Phase: r.Phase})
		}
	}
	for i := range d.Responses {
		r := &d.Responses[i]
		if v := r.begun(); v != nil {
			out = append(out, Notice{
				ID:   string(r.Node.Claim.UID) + "/" + v.Event.ID + "/" + string(r.Action),
				Node: r.Node, Action: r.Action, Verdict: v,
			})
		}
	}
	return out
}

// begun is the verdict of a rule by which something begins that people were not asked about.
func (r *Response) begun() *Verdict {
	if r.Node.Claim == nil || r.Node.Deleting() || len(r.Verdicts) == 0 {
		return nil
	}
	v := &r.Verdicts[0]
	switch {
	case !v.Due || v.Rule == 0 || v.rule.Approval != "" || v.Reason.Code == plan.InterruptionNoted:
		return nil
	case r.Action == snapshot.InterruptionCordon && Cordoned(r.Node):
		return nil
	case r.Action == snapshot.InterruptionReplace && r.Replace == nil:
		return nil
	case r.Action == snapshot.InterruptionRestart && restart.Of(r.Node.Claim).UnderWay():
		return nil
	}
	return v
}
