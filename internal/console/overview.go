package console

import (
	"net/http"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// overview shows all biz types.
func (c *Console) overview(r *http.Request) (view, error) {
	types, err := c.Operator.ListBizTypes(r.Context(), connect.NewRequest(&lacunav1.ListBizTypesRequest{}))
	if err != nil {
		return view{}, err
	}
	return view{template: "overview", title: "Overview", content: types.Msg.GetBizTypes()}, nil
}
