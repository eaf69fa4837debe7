// Command rightsgen prints which rights Millwright made use of, from the audit logs of a run
// of the end-to-end tests (make rights). A right that it was refused is an error.
package main

import (
	"fmt"
	"os"

	"github.com/millwright-dev/millwright/deploy/rights"
)

// accounts are the service accounts of the controller in the end-to-end tests.
var accounts = []string{
	"system:serviceaccount:millwright-system:millwright",
	"system:serviceaccount:scaling:millwright",
	"system:serviceaccount:kube-system:millwright",
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: rightsgen FOLDER-OF-AUDIT-LOGS")
		os.Exit(2)
	}
	used, refused, err := rights.Record(os.Args[1], accounts...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	fmt.Println("# Written by make rights: what the end-to-end tests made use of.")
	for _, r := range used.Sorted() {
		fmt.Println(r)
	}
	if len(refused) > 0 {
		fmt.Fprintln(os.Stderr, "error: refused:", refused.Sorted())
		os.Exit(1)
	}
}
