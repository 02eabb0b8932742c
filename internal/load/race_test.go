//go:build race

package load_test

// race is whether memory is counted with what the race detector adds.
const race = true
