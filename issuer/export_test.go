package issuer

import "time"

// Idle makes a biz type look as if nobody had asked for it for an hour.
func (i *Issuer) Idle(bizType string) {
	b, _ := i.buffers.Load(bizType)
	b.(*buffer).lastAsked.Store(time.Now().Add(-time.Hour).UnixNano()) //nolint:forcetypeassert // the map holds buffers only
}

// Revision is that of the settings which this process goes by.
func (i *Issuer) Revision(bizType string) int64 { return (*i.rules.Load())[bizType].Revision }

// StormAfter makes a storm of what waits for longer than that.
func (i *Issuer) StormAfter(lag time.Duration) { i.storm.begins.Store(int64(lag)) }
