// Package feed puts on record what the cloud announces: the messages of its queue
// and what its own API lists.
//
//	cloud.Queue ─► Receive ─► ledger.Add ─► annotation of the NodeClaim ─► Settle
//	cloud.Inspector ─► List, every so often ─► ledger.Add, ledger.Withdraw
//	                └► Confirm, of what a policy waits for
//
// What follows from an announcement is not decided here: controllers/interruption
// reads the record. A message is forgotten by the queue only when what it says is
// on record, so a process that ends loses nothing; one that is delivered again
// finds itself on record and changes nothing. Nothing is kept in memory.
//
// Runs on the leader, if there is a queue or an inspector.
package feed
