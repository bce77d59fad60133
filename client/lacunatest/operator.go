package lacunatest

import (
	"context"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
	"github.com/lacuna-seq/lacuna/internal/wire"
)

// operator answers what a client asks of a biz type, and is UNIMPLEMENTED otherwise.
type operator struct {
	lacunav1connect.UnimplementedOperatorServiceHandler

	memory *memory
}

// GetBizType tells the name, the format and the revision, and that no number has a run that could be signalled.
func (o *operator) GetBizType(_ context.Context, r *connect.Request[lacunav1.GetBizTypeRequest]) (*connect.Response[lacunav1.GetBizTypeResponse], error) {
	o.memory.mu.Lock()
	defer o.memory.mu.Unlock()
	of, err := o.memory.of(r.Msg.GetName())
	if err != nil {
		return nil, wire.Error(err)
	}
	format, revision, signals := of.rules.Format.String(), of.rules.Revision, false
	return connect.NewResponse(&lacunav1.GetBizTypeResponse{BizType: &lacunav1.BizType{
		Name: of.rules.Name, Format: &format, Revision: &revision, DirectSignals: &signals,
	}}), nil
}
