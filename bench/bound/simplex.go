package bound

// maximize solves the linear program
//
//	max gain.x   subject to   rows[i].x <= limit[i],  x >= 0
//
// with limit >= 0, by the simplex method on a dense tableau, and returns x, the
// dual value of each row and the optimum. The program must be bounded; if the
// arithmetic gives out, the result is the last vertex reached.
func maximize(gain []float64, rows [][]float64, limit []float64) (x, dual []float64, value float64) {
	t := newTableau(gain, rows, limit)
	for range 50 * (t.m + t.n) {
		column := t.entering()
		if column < 0 {
			break
		}
		row := t.leaving(column)
		if row < 0 {
			break
		}
		t.pivot(row, column)
	}
	return t.solution()
}

// negligible is what counts as zero in the tableau.
const negligible = 1e-11

// tableau has a row for each constraint and one for the objective, a column
// for each variable that is not in the basis and one for the right-hand side.
// Variables below n are x, the others the rows' slacks.
type tableau struct {
	m, n     int
	cell     [][]float64
	basis    []int // by row
	nonBasis []int // by column
	stalled  int   // pivots without progress
}

func newTableau(gain []float64, rows [][]float64, limit []float64) *tableau {
	t := &tableau{m: len(rows), n: len(gain)}
	for i, row := range rows {
		t.cell = append(t.cell, append(append(make([]float64, 0, t.n+1), row...), limit[i]))
		t.basis = append(t.basis, t.n+i)
	}
	objective := make([]float64, t.n+1)
	for j, g := range gain {
		objective[j] = -g
		t.nonBasis = append(t.nonBasis, j)
	}
	t.cell = append(t.cell, objective)
	return t
}

// entering picks the column with the steepest gain; after a long stall, the one
// of the lowest variable, which cannot cycle.
func (t *tableau) entering() int {
	best, objective := -1, t.cell[t.m]
	bland := t.stalled > t.m+t.n
	for j := range t.n {
		if objective[j] >= -negligible {
			continue
		}
		better := best < 0
		if !better && bland {
			better = t.nonBasis[j] < t.nonBasis[best]
		} else if !better {
			better = objective[j] < objective[best]
		}
		if better {
			best = j
		}
	}
	return best
}

// leaving picks the row that limits the column first, the lowest variable among
// equals.
func (t *tableau) leaving(column int) int {
	best := -1
	var least float64
	for i := range t.m {
		a := t.cell[i][column]
		if a <= negligible {
			continue
		}
		ratio := t.cell[i][t.n] / a
		if best < 0 || ratio < least || ratio == least && t.basis[i] < t.basis[best] {
			best, least = i, ratio
		}
	}
	if best >= 0 && least > 0 {
		t.stalled = 0
	} else {
		t.stalled++
	}
	return best
}

func (t *tableau) pivot(row, column int) {
	p := t.cell[row]
	inverse := 1 / p[column]
	for j := range p {
		p[j] *= inverse
	}
	p[column] = inverse
	for i, r := range t.cell {
		factor := r[column]
		if i == row || factor == 0 {
			continue
		}
		for j := range r {
			r[j] -= factor * p[j]
		}
		r[column] = -factor * inverse
	}
	t.basis[row], t.nonBasis[column] = t.nonBasis[column], t.basis[row]
}

func (t *tableau) solution() (x, dual []float64, value float64) {
	x, dual = make([]float64, t.n), make([]float64, t.m)
	for i, v := range t.basis {
		if v < t.n {
			x[v] = max(t.cell[i][t.n], 0)
		}
	}
	for j, v := range t.nonBasis {
		if v >= t.n {
			dual[v-t.n] = max(t.cell[t.m][j], 0)
		}
	}
	return x, dual, t.cell[t.m][t.n]
}
