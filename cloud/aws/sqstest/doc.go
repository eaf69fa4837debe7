// Package sqstest is an SQS in this process, for tests and for the sandbox: real
// clients of AWS's SDKs speak to it over HTTP.
//
//	s := sqstest.New(sqstest.Config{Queues: []string{"interruptions"}})
//	web := httptest.NewServer(s)
//	s.Send("interruptions", body)
//
// It speaks the AWS JSON 1.0 protocol: GetQueueUrl, SendMessage(Batch),
// ReceiveMessage with long polls, DeleteMessage(Batch), ChangeMessageVisibility and
// GetQueueAttributes. Messages become visible again when their time-out ends, have a
// new receipt each time, and come in no particular order, as in a standard queue.
// Signatures are not checked.
package sqstest
