// Package ledger keeps what a cloud has announced about a machine on record.
//
//	Record + news ──► Add, Withdraw ──► Record ──► Text, an annotation of the claim
//	                                      └──────► Events, for interruption.Decide
//
// Messages come once, more than once, late, and in any order; what follows from
// them must not depend on that, nor be forgotten by a process that ends. So every
// announcement is merged into the record of its machine, which is an annotation of
// the machine's claim, and the message is forgotten only after that. Who reads the
// record after a restart reads the same.
//
// What is the same announcement:
//
//	maintenance       the same ID; or a code that does not contradict, and the same
//	                  start within an hour, as when two sources tell of it
//	everything else   the same kind, and volume if it is about one
//
// Which of two words about it counts:
//
//	the cloud's own API over any message, until the API says that it is over
//	of two messages the one that was issued later; of two issued at the same
//	time the one that says that it is over
//
// So a message that is forged or replayed cannot take back or change what the API
// has said. A record is bounded: it has at most [Most] announcements of bounded
// length, and what is over leaves it after a day.
package ledger
