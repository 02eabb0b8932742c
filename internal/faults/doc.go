// Package faults holds tests of the whole product against servers that misbehave:
// a matrix of faults, transports and isolations, with what a caller is told of
// each and when, and what happens under a storm of deaths, with many sessions, and
// when calls are canceled. It gives nothing; see [upstreamtest.Fault] for the
// misdeeds, and "make faults" for the matrix.
//
// [upstreamtest.Fault]: https://pkg.go.dev/github.com/tenon-mcp/tenon/internal/upstreamtest#Fault
package faults
