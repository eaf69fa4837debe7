package pack

// simplex is the revised simplex method for: least cost·x with columns·x = b and
// x >= 0, where columns are made when they are needed. It starts from a basis
// that the caller knows to be feasible, and keeps the inverse of the basis.
type simplex struct {
	rows    int
	inverse []float64 // rows x rows
	x       []float64 // values of the basic variables
	basis   []int     // their names, as given to enter
	costs   []float64 // their costs
	dual    []float64
	step    []float64
	column  []entry // room for one
}

const tiny = 1e-9

// newSimplex starts from a diagonal basis: variable names[r] with a single
// coefficient diagonal[r] in row r.
func newSimplex(b, diagonal, cost []float64, names []int) *simplex {
	n := len(b)
	s := emptySimplex(n)
	for r := range n {
		s.inverse[r*n+r] = 1 / diagonal[r]
		s.x[r] = b[r] / diagonal[r]
		s.basis[r], s.costs[r], s.dual[r] = names[r], cost[r], cost[r]/diagonal[r]
	}
	return s
}

func emptySimplex(n int) *simplex {
	room := make([]float64, n*(n+4))
	cut := func(n int) []float64 {
		out := room[:n:n]
		room = room[n:]
		return out
	}
	return &simplex{rows: n, basis: make([]int, n), inverse: cut(n * n), x: cut(n), costs: cut(n), dual: cut(n), step: cut(n)}
}

// reset starts over from slack variables, which cost nothing and are named from -1
// down.
func (s *simplex) reset(b []float64) {
	clear(s.inverse)
	clear(s.dual)
	clear(s.costs)
	for r := range b {
		s.inverse[r*s.rows+r] = 1
		s.x[r], s.basis[r] = b[r], -1-r
	}
}

// cost is the sum of what the basic variables cost.
func (s *simplex) cost() float64 {
	sum := 0.0
	for r, c := range s.costs {
		sum += c * s.x[r]
	}
	return sum
}

// reprice finds the dual anew after costs have changed.
func (s *simplex) reprice() {
	clear(s.dual)
	for r, c := range s.costs {
		if c != 0 {
			for i, v := range s.inverse[r*s.rows : (r+1)*s.rows] {
				s.dual[i] += c * v
			}
		}
	}
}

// entry is a coefficient of a sparse column.
type entry struct {
	row   int
	value float64
}

// reduced is the cost of a column beyond what its content is worth; below zero
// it lowers the total.
func (s *simplex) reduced(column []entry, cost float64) float64 {
	for _, e := range column {
		cost -= s.dual[e.row] * e.value
	}
	return cost
}

// enter brings a column into the basis; false if nothing bounds it.
func (s *simplex) enter(name int, column []entry, cost float64) bool {
	n := s.rows
	for r := range n {
		sum := 0.0
		row := s.inverse[r*n : (r+1)*n]
		for _, e := range column {
			sum += row[e.row] * e.value
		}
		s.step[r] = sum
	}
	leave := s.leaving()
	if leave < 0 {
		return false
	}
	s.pivot(leave, name, s.reduced(column, cost))
	s.costs[leave] = cost
	return true
}

// leaving is the row that bounds the step; ties go to the variable with the
// least name, which keeps the method from cycling in practice.
func (s *simplex) leaving() int {
	leave, least := -1, 0.0
	for r, d := range s.step {
		if d <= tiny {
			continue
		}
		ratio := s.x[r] / d
		if leave < 0 || ratio < least-tiny || ratio < least+tiny && s.basis[r] < s.basis[leave] {
			leave, least = r, ratio
		}
	}
	return leave
}

func (s *simplex) pivot(leave, name int, reduced float64) {
	n := s.rows
	d := s.step[leave]
	row := s.inverse[leave*n : (leave+1)*n]
	dual := s.dual[:len(row)]
	for i, v := range row {
		if v != 0 {
			row[i] = v / d
			dual[i] += reduced * row[i]
		}
	}
	s.x[leave] = max(0, s.x[leave]/d)
	s.basis[leave] = name
	for r, f := range s.step {
		if r == leave || f == 0 {
			continue
		}
		other := s.inverse[r*n : (r+1)*n][:len(row)]
		for i, v := range row {
			other[i] -= f * v
		}
		s.x[r] = max(0, s.x[r]-f*s.x[leave])
	}
}
