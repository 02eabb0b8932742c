package tool

// A Place is where a bundled server is built for: by the gateway to list its tools, and
// by the process that runs it, which must come to the same. The zero value is this
// process.
type Place struct {
	// Dir is the folder that relative paths among the options start from; "" is the
	// working folder.
	Dir string
	// Getenv returns a variable of the environment that the server has when it runs;
	// nil: of this process.
	Getenv func(name string) string
	// AtEnd takes what is to be done once the server has ended, whatever ended it: it
	// gives back what would outlive the server, and is done in a few seconds. Nil: the
	// server is only looked at, and never runs.
	AtEnd func(end func() error)
}

// KeepsResults is a variable in the environment of a bundled server, and says that
// whoever calls it cuts what is longer than MaxResultChars and keeps the whole: so the
// server may hand on more. Without it a model may get all that the server says.
const KeepsResults = "TENON_KEEPS_RESULTS"
