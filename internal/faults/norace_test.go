//go:build !race

package faults_test

// slow is true where everything takes many times as long as it would.
const slow = false
