// Package interruption decides what is done about machines that the cloud says
// will stop, reboot, be reclaimed or retired.
//
//	snapshot, events ──► Decide ──► Decision
//	                                ├── Responses  one per machine that an event is about
//	                                ├── Requests   DisruptionRequests as they should be
//	                                ├── Buckets    rate limits, after what begins now
//	                                ├── Strays     events about no machine of ours
//	                                └── Recheck    when time alone changes the answer
//
// A [Response] says what holds now (the action that is due) and has a [Verdict]
// for every event of the machine: the rule that decides, when its action may
// begin, and why not now. The rules are those of the pool's policy; where none
// matches, [Default] holds, which is Karpenter's table.
//
// When an action begins:
//
//	earliest = start of the event − leadTime      (at once without a leadTime)
//	latest   = deadline of the event − reserve    (never without a deadline)
//	begins   = the first moment from earliest on at which a window is open
//	         = latest, if no window opens until then
//
// An action that needs an approval waits for the answer to its [Request] first. The
// request is found by claim, event and action, so that an answer may be there
// before the question; it is withdrawn with the event. Rate limits hold machines
// back that would begin, until latest. Pods for whom the rule does not keep its
// timetable leave at once, and a machine without any other begins at once.
//
// Restart stops and starts the same machine; package restart carries it through, on a record
// that the claim has. Where the cloud cannot, it turns into Replace.
//
// Replace asks for a replacement on the claim (package disruption does the rest)
// and turns into Drain at latest.
//
// Several events about one machine combine to the stricter: each has its own
// timetable, and of the actions that are due the strongest is done. A cordon is
// taken back when no event asks for it any more, because it is cancelled, over,
// or the policy has changed.
//
// Invariants: the same snapshot and events, in any order, give the same decision;
// nothing is due before earliest, and with a deadline nothing that may begin is
// not due at latest; Ignore and Notify are never due as more than that; an event
// that is cancelled or completed makes nothing due.
package interruption
