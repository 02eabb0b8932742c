package tool

import (
	"cmp"
	"encoding/json"
	"math"
)

// UsageKey is where the _meta of a result says what models were paid for it.
const UsageKey = "tenon/usage"

// Usage is what calls of models have taken.
type Usage struct {
	Provider  string   `json:"provider" jsonschema:"who answered"`
	Model     string   `json:"model" jsonschema:"model that answered"`
	Requests  int      `json:"requests" jsonschema:"answers that were paid for"`
	Input     int      `json:"input_tokens" jsonschema:"tokens of the question"`
	Output    int      `json:"output_tokens" jsonschema:"tokens of the answer, with what was thought"`
	Reasoning int      `json:"reasoning_tokens,omitempty" jsonschema:"of these, tokens of thinking"`
	Seconds   float64  `json:"audio_seconds,omitempty" jsonschema:"seconds of sound, where these are counted"`
	Cost      *float64 `json:"cost,omitempty" jsonschema:"price of all that, where the operator has set prices"`
}

// Add adds the usage of another call.
func (u *Usage) Add(v Usage) {
	u.Provider, u.Model = cmp.Or(v.Provider, u.Provider), cmp.Or(v.Model, u.Model)
	u.Requests += v.Requests
	u.Input += v.Input
	u.Output += v.Output
	u.Reasoning += v.Reasoning
	u.Seconds += v.Seconds
	if v.Cost != nil {
		sum := *v.Cost
		if u.Cost != nil {
			sum += *u.Cost
		}
		u.Cost = &sum
	}
}

// Tokens returns those of questions and answers together.
func (u *Usage) Tokens() int64 { return int64(u.Input) + int64(u.Output) }

// Price returns the cost, which is 0 where it is not known.
func (u *Usage) Price() float64 {
	if u.Cost == nil {
		return 0
	}
	return *u.Cost
}

// Bounds of what one result may say that it has taken: more is a mistake, and would
// overflow sums.
const (
	mostTokens = 1 << 40
	mostCost   = 1e9
	mostName   = 120
)

// ParseUsage reads what a result says of itself under UsageKey. It is false where that is
// nothing that can be counted: negative numbers would give back what was used.
func ParseUsage(raw []byte) (u Usage, ok bool) {
	if json.Unmarshal(raw, &u) != nil {
		return Usage{}, false
	}
	for _, n := range []int{u.Requests, u.Input, u.Output, u.Reasoning} {
		if n < 0 || n > mostTokens {
			return Usage{}, false
		}
	}
	for _, f := range []float64{u.Seconds, u.Price()} {
		if f < 0 || f > mostCost || math.IsNaN(f) {
			return Usage{}, false
		}
	}
	if len(u.Provider) > mostName || len(u.Model) > mostName {
		return Usage{}, false
	}
	return u, u.Requests+u.Input+u.Output > 0
}
