// Package expression works out what an EC2NodeClass says of its kubelets by the size of the machine:
// expressions of CEL in spec.kubelet.maxPods, kubeReserved and systemReserved, as Karpenter's
// provider for AWS has them behind the gate NodeClassCEL.
//
//	"min(110, (default_enis - 1) * (ips_per_eni - 1) + 2)", Machine ──► Evaluator ──► 20
//
// An expression is of CEL's standard library, with min and max of two numbers, and gives a number:
// a fraction is cut off. What it gives is counted in the unit in which people write the field:
//
//	maxPods, pid       whole
//	cpu                thousandths of a core, rounded up to tens
//	memory             MiB, rounded up to sixteens
//	ephemeral-storage  GiB
//
// Rounding keeps machines of nearly the same size on one launch template; a reserve never gets
// smaller by it.
package expression

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/utils/lru"
)

// Machine is what expressions know of an instance type: the names in brackets are theirs.
type Machine struct {
	// Type is its name, such as m5.large [instance_type].
	Type string
	// VCPUs and MemoryMiB are EC2's figures, before anything is taken off [vcpus, memory_mib].
	VCPUs, MemoryMiB int64
	// Interfaces is how many the default network card holds, Addresses how many IPv4 addresses
	// each of them has [default_enis, ips_per_eni].
	Interfaces, Addresses int64
	// Pods is how many a Node takes: to maxPods itself, as if it said nothing [max_pods].
	Pods int64
}

func (m *Machine) variables() map[string]any {
	return map[string]any{
		"instance_type": m.Type, "vcpus": m.VCPUs, "memory_mib": m.MemoryMiB,
		"default_enis": m.Interfaces, "ips_per_eni": m.Addresses, "max_pods": m.Pods,
	}
}

const (
	// mostKept is how many expressions are kept compiled: some hundred classes have less.
	mostKept = 1024
	// mostCost is what an expression may cost, in steps of CEL. Arithmetic takes dozens; without
	// a limit nested loops over lists could take hours.
	mostCost = 100_000
)

// environment declares the variables and functions.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	var options []cel.EnvOption
	for name, value := range (&Machine{}).variables() {
		kind := cel.IntType
		if _, text := value.(string); text {
			kind = cel.StringType
		}
		options = append(options, cel.Variable(name, kind))
	}
	options = append(options, either("min", types.IntNegOne), either("max", types.IntOne))
	return cel.NewEnv(options...)
})

// either is a function of two numbers that is the one which compares so with the other; of a whole
// number and a fraction it makes a fraction.
func either(name string, sign types.Int) cel.EnvOption {
	var overloads []cel.FunctionOpt
	for _, left := range numbers {
		for _, right := range numbers {
			result := left
			if left != right {
				result = cel.DoubleType
			}
			overloads = append(overloads, cel.Overload(fmt.Sprintf("%s_%s_%s", name, left, right), []*cel.Type{left, right}, result, cel.BinaryBinding(func(a, b ref.Val) ref.Val {
				a, b = a.ConvertToType(result), b.ConvertToType(result)
				if c, ok := a.(traits.Comparer); ok && c.Compare(b) == sign {
					return a
				}
				return b
			})))
		}
	}
	return cel.Function(name, overloads...)
}

var numbers = []*cel.Type{cel.IntType, cel.DoubleType}

// Evaluator evaluates expressions. It is safe for concurrent use.
type Evaluator struct {
	programs *lru.Cache // compiled, by text
}

// New makes an Evaluator.
func New() *Evaluator { return &Evaluator{lru.New(mostKept)} }

// compiled is an expression that can be evaluated, or why it cannot.
type compiled struct {
	program cel.Program
	err     error
}

// Check tells what is wrong with an expression, whatever the machine.
func (e *Evaluator) Check(text string) error { return e.of(text).err }

// Eval is what an expression gives for a machine, without the fraction.
func (e *Evaluator) Eval(text string, m Machine) (int64, error) {
	c := e.of(text)
	if c.err != nil {
		return 0, c.err
	}
	out, _, err := c.program.Eval(m.variables())
	if err != nil {
		return 0, err
	}
	switch v := out.Value().(type) {
	case int64:
		return v, nil
	case float64:
		if v > -(1<<63) && v < 1<<63 {
			return int64(v), nil
		}
	}
	return 0, fmt.Errorf("%v is not a number that counts", out.Value())
}

func (e *Evaluator) of(text string) compiled {
	if have, ok := e.programs.Get(text); ok {
		if c, ok := have.(compiled); ok {
			return c
		}
	}
	var c compiled
	c.program, c.err = compile(text)
	e.programs.Add(text, c)
	return c
}

func compile(text string) (cel.Program, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	tree, issues := env.Compile(text)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		return nil, fmt.Errorf("%s at %d:%d", strings.TrimSuffix(first.Message, " (in container '')"), first.Location.Line(), first.Location.Column()+1)
	}
	if !slices.ContainsFunc(numbers, tree.OutputType().IsExactType) {
		return nil, fmt.Errorf("it gives no number, but %s", tree.OutputType())
	}
	return env.Program(tree, cel.CostLimit(mostCost))
}

// Quantity is what so many units of a resource are.
func Quantity(resource string, n int64) string {
	switch resource {
	case "cpu":
		return fmt.Sprintf("%dm", up(n, 10))
	case "memory":
		return fmt.Sprintf("%dMi", up(n, 16))
	case "ephemeral-storage":
		return fmt.Sprintf("%dGi", n)
	}
	return strconv.FormatInt(n, 10)
}

// up is the next multiple of a step, if there is one.
func up(n, step int64) int64 {
	if rest := n % step; rest > 0 && n <= math.MaxInt64-step {
		return n - rest + step
	}
	return n
}
