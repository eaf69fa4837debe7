// Package wire speaks AWS's protocols on the server's side: EC2's and IAM's query forms
// with answers in XML, and JSON by target or by path.
//
//	r, err := wire.Read(request)     // service, action and input, checked
//	wire.Write(w, r, output, err)    // the answer, or the error in the service's form
//
// Nothing here knows an action. Every name on the wire, what is required, lists' forms and
// types are read from tables, tables/zz_generated.*.json, which are AWS's own models: see
// their first lines. A parameter that a table does not know is refused as AWS does, and
// so is an answer that does not fit its table.
//
// An input is a tree of maps by the model's names; [Bind] makes a Go value of it. An output
// is any Go value of structs, maps and slices whose fields have the model's names. Empty
// strings, times, lists and pointers are left out; numbers and booleans are not.
package wire
