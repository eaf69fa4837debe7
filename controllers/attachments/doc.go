// Package attachments watches over volumes that are attached and should not be, or
// should be and are not.
//
//	snapshot ──► engine/attachment ──► event on the attachment and on its claim,
//	                                   condition of the NodeClaim, metric
//	                              ──► deletion of attachments to Nodes that are
//	                                  gone, if a NodePolicy says so
//
// What it knows beyond the objects is since when each orphan has been seen, which a
// restart may forget: orphans are then deleted later.
package attachments
