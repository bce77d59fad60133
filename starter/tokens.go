package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/sequence"
)

const rolePrefix = "ROLE_"

func (s *operatorService) CreateToken(ctx context.Context, r *connect.Request[lacunav1.CreateTokenRequest]) (*connect.Response[lacunav1.CreateTokenResponse], error) {
	m := r.Msg
	var lifetime time.Duration
	if m.GetLifetime() != nil {
		if lifetime = m.GetLifetime().AsDuration(); !m.GetLifetime().IsValid() || lifetime == 0 {
			return nil, apiError(sequence.Invalidf("lifetime", "is no time: leave it out for a token that lasts for good"))
		}
	}
	token := access.Token{
		Name: m.GetName(), Role: roleOf(m.GetRole()), BizTypes: m.GetBizTypes(), Rate: int(m.GetRate()), AbandonBudget: m.GetAbandonBudget(),
		CreatedBy: callerName(ctx),
	}
	if err := token.Validate(lifetime); err != nil {
		return nil, apiError(err)
	}
	text, hash := access.NewText(token.Name)
	token.Hash = hash
	err := s.ledger.CreateToken(ctx, token, lifetime)
	if errors.Is(err, ledger.ErrExists) {
		return nil, connect.NewError(connect.CodeAlreadyExists, err)
	}
	if err != nil {
		return nil, apiError(err)
	}
	slog.InfoContext(ctx, "a token was made", "actor", token.CreatedBy, "token", token.Name, "role", token.Role.String(), "biz_types", token.BizTypes)
	made, err := s.ledger.Token(ctx, token.Name)
	if err != nil {
		// The text is told now or never, so what the ledger knows better is left out.
		slog.WarnContext(ctx, "a new token could not be read back", "token", token.Name, "error", err)
		made = token
	}
	return connect.NewResponse(&lacunav1.CreateTokenResponse{Token: tokenMessage(made), Text: text}), nil
}

func (s *operatorService) ListTokens(ctx context.Context, _ *connect.Request[lacunav1.ListTokensRequest]) (*connect.Response[lacunav1.ListTokensResponse], error) {
	tokens, err := s.ledger.Tokens(ctx)
	if err != nil {
		return nil, apiError(err)
	}
	response := &lacunav1.ListTokensResponse{}
	for _, t := range tokens {
		response.Tokens = append(response.Tokens, tokenMessage(t))
	}
	return connect.NewResponse(response), nil
}

func (s *operatorService) RevokeToken(ctx context.Context, r *connect.Request[lacunav1.RevokeTokenRequest]) (*connect.Response[lacunav1.RevokeTokenResponse], error) {
	if err := access.ValidateName(r.Msg.GetName()); err != nil {
		return nil, apiError(err)
	}
	token, err := s.ledger.RevokeToken(ctx, r.Msg.GetName(), callerName(ctx))
	if err != nil {
		return nil, apiError(err)
	}
	slog.InfoContext(ctx, "a token was revoked", "actor", callerName(ctx), "token", token.Name)
	return connect.NewResponse(&lacunav1.RevokeTokenResponse{Token: tokenMessage(token)}), nil
}

// roleOf reads a role; 0, which no token may have, for one that is not known.
func roleOf(m lacunav1.Role) access.Role {
	role, _ := access.ParseRole(strings.ToLower(strings.TrimPrefix(m.String(), rolePrefix)))
	return role
}

func roleMessage(r access.Role) lacunav1.Role {
	return lacunav1.Role(lacunav1.Role_value[rolePrefix+strings.ToUpper(r.String())])
}

func tokenMessage(t access.Token) *lacunav1.Token {
	return &lacunav1.Token{
		Name: t.Name, Role: roleMessage(t.Role), BizTypes: t.BizTypes, Rate: int32(t.EffectiveRate()), AbandonBudget: t.EffectiveBudget(), //nolint:gosec // within bounds
		CreatedBy: t.CreatedBy, CreatedTime: wire.Time(t.CreatedTime), ExpireTime: wire.Time(t.ExpireTime),
		RevokedBy: t.RevokedBy, RevokedTime: wire.Time(t.RevokedTime), LastUsedTime: wire.Time(t.LastUsedTime),
	}
}
