package issuer

import "time"

// Idle makes a biz type look as if nobody had asked for it for an hour.
func (i *Issuer) Idle(bizType string) {
	b, _ := i.buffers.Load(bizType)
	b.(*buffer).lastAsked.Store(time.Now().Add(-time.Hour).UnixNano()) //nolint:forcetypeassert // the map holds buffers only
}
