// Package fleet says what a launch asks of EC2, and what EC2's answer means.
//
//	cloud.LaunchRequest ──► Waves ──► one CreateFleet each ──► Answer ──► Instance or typed error
//
// # One machine for one token
//
// EC2 remembers the ClientToken of a CreateFleet: the same token with the same parameters
// gives the first answer again, and with other parameters IdempotentParameterMismatch.
// Parameters change between attempts, because prices and sold-out offerings do, so a retry
// after a crash cannot count on repeating them. It need not:
//
//   - The token is the claim's UID and the number of the attempt. An attempt ends when EC2
//     has answered it; only then is there a next one.
//   - A process that lost the reply has the request in memory, and repeats it as it was: for
//     [Doubt], if there is no machine then. After that whatever else would do is asked for.
//   - A process that has not sees the same answer, or the mismatch: proof of an earlier
//     request. Then the machine is looked for by its tag. If it is not there for
//     [Doubt], the attempt is taken to have failed, and the next one begins.
//
// Should EC2 show a machine later than that, there are two of one token; the one that the
// claim does not name is ended as any machine without a claim is.
//
// Everything here is a pure function.
package fleet
