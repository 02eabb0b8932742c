package model

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Prices are what models cost, by their names.
type Prices map[string]price

type price struct{ input, output, minute float64 }

// ParsePrices reads prices: NAME=INPUT/OUTPUT for a million tokens of the question and
// of the answer, or NAME=PRICE/min for a minute of sound. The currency is the operator's.
func ParsePrices(list []string) (Prices, error) {
	p := Prices{}
	for _, s := range list {
		name, value, ok := strings.Cut(s, "=")
		first, second, slash := strings.Cut(value, "/")
		name = strings.TrimSpace(name)
		if !ok || !slash || name == "" {
			return nil, fmt.Errorf("%q is no price: write MODEL=INPUT/OUTPUT for a million tokens, such as gpt-4o=2.5/10, or MODEL=PRICE/min for a minute of sound", s)
		}
		a, err := amount(first)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", s, err)
		}
		if strings.TrimSpace(second) == "min" {
			p[name] = price{minute: a}
			continue
		}
		b, err := amount(second)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", s, err)
		}
		p[name] = price{input: a, output: b}
	}
	return p, nil
}

// Priced returns the prices of one model, for a million tokens of the question and of the
// answer; none where both are 0.
func Priced(name string, input, output float64) Prices {
	if input == 0 && output == 0 {
		return nil
	}
	return Prices{name: price{input: input, output: output}}
}

func amount(s string) (float64, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || f < 0 || math.IsInf(f, 0) || math.IsNaN(f) {
		return 0, fmt.Errorf("%q is no amount", strings.TrimSpace(s))
	}
	return f, nil
}

// set sets the cost of a request. A model may answer under a longer name than it was
// asked by, with a date behind it.
func (p Prices) set(u *Usage) {
	if u.Requests == 0 {
		return
	}
	best := ""
	for name := range p {
		if strings.HasPrefix(u.Model, name) && len(name) > len(best) {
			best = name
		}
	}
	if best == "" {
		return
	}
	q := p[best]
	cost := (float64(u.Input)*q.input+float64(u.Output)*q.output)/1e6 + u.Seconds/60*q.minute
	u.Cost = &cost
}
