package client

import "context"

// behalf is a context with the values of a caller, such as its trace, for which interceptors look. The caller's end is
// not that of what is said for it.
type behalf struct {
	context.Context //nolint:containedctx // it is a context itself
	caller          context.Context
}

// Value is the caller's, and the work's own where that has none.
func (b behalf) Value(key any) any {
	if v := b.caller.Value(key); v != nil {
		return v
	}
	return b.Context.Value(key)
}

// onBehalfOf is ctx with the caller's values; nil is nobody.
func onBehalfOf(ctx, caller context.Context) context.Context {
	if caller == nil {
		return ctx
	}
	return behalf{ctx, context.WithoutCancel(caller)}
}

// ofFirst makes a call for many callers on behalf of the first.
func ofFirst(ctx context.Context, callers []context.Context) (context.Context, func(error)) {
	return onBehalfOf(ctx, callers[0]), func(error) {}
}
