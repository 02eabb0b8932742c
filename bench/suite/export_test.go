package suite

// Median is median for tests.
func Median(values []float64) float64 { return median(values) }
