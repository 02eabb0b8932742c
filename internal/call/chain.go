package call

import "slices"

// A stage wraps the handler of the stages within.
type stage func(o *Options, next Handler) Handler

// stages are the stages from the outermost to the innermost. The order matters:
//
//	record    is outermost: denied and misnamed calls are kept too
//	mark      says which text strangers wrote, in what is given and recorded
//	shape     sees every answer, errors too
//	redact    hides secrets in what all stages within answer, before any of it is kept
//	deadline  is one for the whole call, whatever happens within
//	view      is what of the pool this caller sees
//	fallback  is outside authorize: a substitute is authorised like any other
//	resolve   finds the tool that is meant
//	handles   puts stored results in the place of references among the arguments
//	repair    holds arguments against the schema, and mends those that leave one reading
//	rules     looks for what must not be reached, in the final arguments of whatever tool it has become
//	authorize decides on the final arguments
//	once      answers a call that was carried out already, to whom may call
//	limit     counts what is used
//	admit     limits what runs at once
//	retry     is inside authorize, and never changes the tool
//	send      carries it out
var stages = []stage{
	record,
	mark,
	shape,
	redact,
	deadline,
	view,
	fallback,
	resolve,
	handles,
	repair,
	rules,
	authorize,
	once,
	limit,
	admit,
	retry,
}

func chain(o Options) Handler {
	next := send(&o)
	for _, s := range slices.Backward(stages) {
		next = s(&o, next)
	}
	return next
}
