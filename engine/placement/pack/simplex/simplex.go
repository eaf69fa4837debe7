// Package simplex solves small linear programs by the revised simplex method:
//
//	least cost·x with columns·x = b and x >= 0
//
// Columns are made by the caller when they are needed (column generation): it reads the
// dual, and lets in a column whose reduced cost is negative.
package simplex

import "slices"

// Program starts from a basis that the caller knows to be feasible, and keeps the inverse
// of the basis. It is not safe for concurrent use.
type Program struct {
	Rows int
	// X are the values of the basic variables, Basis their names, as given to Enter,
	// Costs what one of each costs, Dual what one more of each row would cost.
	X       []float64
	Basis   []int
	Costs   []float64
	Dual    []float64
	inverse []float64 // of the basis, Rows x Rows
	step    []float64
	column  []Entry // room for one
}

const tiny = 1e-9

// New starts from a diagonal basis: a variable with a single coefficient diagonal[r] for
// each row r, named from -1 down.
func New(b, diagonal, cost []float64) *Program {
	s := Empty(len(b))
	for r, d := range diagonal {
		s.inverse[r*s.Rows+r] = 1 / d
		s.X[r], s.Basis[r], s.Costs[r], s.Dual[r] = b[r]/d, -1-r, cost[r], cost[r]/d
	}
	return s
}

// Empty has room for so many rows; Reset makes it a program.
func Empty(n int) *Program {
	room := make([]float64, n*(n+4))
	cut := func(n int) []float64 {
		out := room[:n:n]
		room = room[n:]
		return out
	}
	return &Program{Rows: n, Basis: make([]int, n), inverse: cut(n * n), X: cut(n), Costs: cut(n), Dual: cut(n), step: cut(n)}
}

// Reset starts over from slack variables, which cost nothing and are named from -1
// down.
func (s *Program) Reset(b []float64) {
	clear(s.inverse)
	clear(s.Dual)
	clear(s.Costs)
	for r := range b {
		s.inverse[r*s.Rows+r] = 1
		s.X[r], s.Basis[r] = b[r], -1-r
	}
}

// Cost is the sum of what the basic variables cost.
func (s *Program) Cost() float64 {
	sum := 0.0
	for r, c := range s.Costs {
		sum += c * s.X[r]
	}
	return sum
}

// Reprice finds the dual anew after costs have changed.
func (s *Program) Reprice() {
	clear(s.Dual)
	for r, c := range s.Costs {
		if c != 0 {
			for i, v := range s.inverse[r*s.Rows : (r+1)*s.Rows] {
				s.Dual[i] += c * v
			}
		}
	}
}

// Entry is a coefficient of a sparse column.
type Entry struct {
	Row   int
	Value float64
}

// Reduced is the cost of a column beyond what its content is worth; below zero
// it lowers the total.
func (s *Program) Reduced(column []Entry, cost float64) float64 {
	for _, e := range column {
		cost -= s.Dual[e.Row] * e.Value
	}
	return cost
}

// Enter brings a column into the basis; false if nothing bounds it.
func (s *Program) Enter(name int, column []Entry, cost float64) bool {
	n := s.Rows
	for r := range n {
		sum := 0.0
		row := s.inverse[r*n : (r+1)*n]
		for _, e := range column {
			sum += row[e.Row] * e.Value
		}
		s.step[r] = sum
	}
	leave := s.leaving()
	if leave < 0 {
		return false
	}
	s.pivot(leave, name, s.Reduced(column, cost))
	s.Costs[leave] = cost
	return true
}

// leaving is the row that bounds the step; ties go to the variable with the
// least name, which keeps the method from cycling in practice.
func (s *Program) leaving() int {
	leave, least := -1, 0.0
	for r, d := range s.step {
		if d <= tiny {
			continue
		}
		ratio := s.X[r] / d
		if leave < 0 || ratio < least-tiny || ratio < least+tiny && s.Basis[r] < s.Basis[leave] {
			leave, least = r, ratio
		}
	}
	return leave
}

func (s *Program) pivot(leave, name int, reduced float64) {
	n := s.Rows
	d := s.step[leave]
	row := s.inverse[leave*n : (leave+1)*n]
	dual := s.Dual[:len(row)]
	for i, v := range row {
		if v != 0 {
			row[i] = v / d
			dual[i] += reduced * row[i]
		}
	}
	s.X[leave] = max(0, s.X[leave]/d)
	s.Basis[leave] = name
	for r, f := range s.step {
		if r == leave || f == 0 {
			continue
		}
		other := s.inverse[r*n : (r+1)*n][:len(row)]
		for i, v := range row {
			other[i] -= f * v
		}
		s.X[r] = max(0, s.X[r]-f*s.X[leave])
	}
}

// Fill solves: most gain·x with piece·x <= what there is, x being the number of pieces
// of each of some bundles that go in, and returns their worth. The negated dual of the
// result are the least prices of the dimensions at which no bundle is worth more than
// what it needs.
func (s *Program) Fill(among []int, gains, pieces []float64, visit func(*Program)) float64 {
	dims := s.Rows
	for range 50 * dims {
		// Where a price has the wrong sign, some of the dimension should rather stay unused.
		if slack := slices.IndexFunc(s.Dual, func(v float64) bool { return v > tiny }); slack >= 0 {
			s.column = append(s.column[:0], Entry{slack, 1})
			s.Enter(-1-slack, s.column, 0)
			continue
		}
		best, at := tiny, -1
		dual := s.Dual
		for _, b := range among {
			gain := gains[b]
			for d, n := range pieces[b*dims:][:len(dual)] {
				gain += dual[d] * n
			}
			if gain > best {
				best, at = gain, b
			}
		}
		visit(s)
		if at < 0 {
			break
		}
		s.column = s.column[:0]
		for d, n := range pieces[at*dims : (at+1)*dims] {
			s.column = append(s.column, Entry{d, n})
		}
		if !s.Enter(at, s.column, -gains[at]) {
			break
		}
	}
	return -s.Cost()
}
