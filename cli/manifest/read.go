package manifest

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Object is a decoded object and where it was written.
type Object struct {
	client.Object
	// Kind is the object's kind; the object itself may have lost it.
	Kind string
	// NodeClass is set for node classes, which are untyped.
	NodeClass bool
	File      string
	Line      int

	text  []byte
	start int
	path  string
}

// Errorf makes an error about a field of the object; the path may be empty.
func (o Object) Errorf(path, format string, args ...any) *Error {
	d := document{file: o.File, line: o.start, text: o.text}
	return d.fieldError(o.String(), o.path, path, fmt.Sprintf(format, args...))
}

// String is "Kind name" or "Kind namespace/name".
func (o Object) String() string {
	if o.GetNamespace() == "" {
		return o.Kind + " " + o.GetName()
	}
	return o.Kind + " " + o.GetNamespace() + "/" + o.GetName()
}

// Result is what files held.
type Result struct {
	// Objects are in the order of the input.
	Objects []Object
	// Ignored counts the objects of kinds that are left out, by Kind.group.
	Ignored map[string]int
	// Refused are the lists that a cluster refused when its objects were written down.
	Refused []metav1.Status
	// Empty are the files without any object, in the order of the input.
	Empty []string
}

// Read decodes files, as Find lists them; "-" is read from stdin. The error is
// [Errors] if the manifests are to blame.
func Read(files []string, stdin io.Reader) (*Result, error) {
	var docs []document
	var empty []string
	for _, file := range files {
		data, name, err := contents(file, stdin)
		if err != nil {
			return nil, fmt.Errorf("reading manifests: %w", err)
		}
		if data, err = plain(data); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		found := cutLists(split(name, data))
		if len(found) == 0 {
			empty = append(empty, name)
		}
		docs = append(docs, found...)
	}
	results := make([]decoded, len(docs))
	each(len(docs), func(i int) { results[i] = docs[i].decode() })
	out, err := collect(docs, results)
	if err != nil {
		return nil, err
	}
	out.Empty = empty
	return out, nil
}

func contents(file string, stdin io.Reader) (data []byte, name string, err error) {
	if file == Stdin {
		data, err = io.ReadAll(stdin)
		return data, "stdin", err
	}
	data, err = os.ReadFile(file)
	return data, file, err
}

// each calls f for every index below n, on all processors, and waits.
func each(n int, f func(i int)) {
	const batch = 16
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (n+batch-1)/batch) {
		group.Go(func() {
			for {
				begin := int(next.Add(batch)) - batch
				if begin >= n {
					return
				}
				for i := begin; i < min(begin+batch, n); i++ {
					f(i)
				}
			}
		})
	}
	group.Wait()
}

// collect joins the results in order. A list with an item that could not be
// read on its own is decoded in one piece instead: the item may lean on an
// anchor elsewhere, or the cut was wrong.
func collect(docs []document, results []decoded) (*Result, error) {
	whole := map[*itemOf]bool{}
	for i, r := range results {
		if r.syntax && docs[i].item != nil {
			whole[docs[i].item] = true
		}
	}
	out := &Result{Ignored: map[string]int{}}
	var errs Errors
	done := map[*itemOf]bool{}
	for i, r := range results {
		if list := docs[i].item; whole[list] {
			if done[list] {
				continue
			}
			done[list] = true
			r = list.whole.decode()
		}
		out.Objects = append(out.Objects, r.objects...)
		out.Refused = append(out.Refused, r.refused...)
		for _, kind := range r.ignored {
			out.Ignored[kind]++
		}
		errs = append(errs, r.errs...)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return out, nil
}
