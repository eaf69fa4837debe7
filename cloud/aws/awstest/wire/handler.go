package wire

// Handler answers a call that has been read.
type Handler func(*Request) (any, error)

// Handle makes a Handler of a function that takes the input as a Go value.
func Handle[In any](do func(In) (any, error)) Handler {
	return func(r *Request) (any, error) {
		var in In
		if err := Bind(r.Input, &in); err != nil {
			return nil, err
		}
		return do(in)
	}
}
