// Package queue reads an SQS queue that EventBridge fills with what AWS announces.
//
//	SQS ──► Receive ──► events.Reader ──► cloud.Message ──► (on record) ──► Settle
//	                                                           ├► delete
//	                                                           ├► dead-letter queue, then delete
//	                                                           └► leave it: delivered again
//
// A message is deleted only when nothing is lost by that: it is on record, or
// nothing follows from it. One that does not count goes to the dead-letter queue
// with the reason as the attribute Refusal or, where none is configured, stays until
// the queue's own redrive policy or retention takes it. A message that is delivered
// again because a deletion failed is harmless: it is on record.
//
// Rights: sqs:GetQueueUrl (for a queue by name), sqs:ReceiveMessage,
// sqs:DeleteMessage; sqs:SendMessage on the dead-letter queue.
package queue
