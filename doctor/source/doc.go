// Package source finds the fix of a finding in what its object was generated from: the values
// of a Helm chart, the configuration of an add-on.
//
//	Source (values, Render) ──► objects ──► doctor.Examine ──► Finding with a Patch
//	                    ▲                                              │
//	                    └────────────── Mend: a change of values ◄─────┘
//
// Little is known about any chart. [Source.Mend] tries every value that is called like the
// field that the patch changes, renders again, and takes the one after which the object is as
// the patch would have made it and the fewest other objects have changed. What it returns was
// therefore seen to work; a chart that has no such value gets nil.
package source
