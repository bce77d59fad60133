package access_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestRolesHaveTheRightsOfTheTable(t *testing.T) {
	for role, rights := range map[access.Role][]access.Right{
		access.RoleCaller:   {access.RightIssue, access.RightSettle, access.RightLook},
		access.RoleAuditor:  {access.RightLook, access.RightRead},
		access.RoleOperator: {access.RightSettle, access.RightLook, access.RightRead, access.RightOperate},
		access.RoleAdmin:    access.Rights[:],
		0:                   nil,
	} {
		token := access.Token{Name: "x", Role: role, BizTypes: []string{"ORDER"}}
		for _, right := range access.Rights {
			err := token.May(right, "ORDER")
			require.Equal(t, slices.Contains(rights, right), err == nil, "%s to %s: %v", role, right, err)
		}
	}
}

func TestACallerIsBoundToItsBizTypes(t *testing.T) {
	shop := access.Token{Name: "shop", Role: access.RoleCaller, BizTypes: []string{"ORDER", "INVOICE"}}
	require.NoError(t, shop.May(access.RightIssue, "INVOICE"))
	err := shop.May(access.RightIssue, "CLAIM")
	require.ErrorContains(t, err, `the token shop (caller) may not touch biz type "CLAIM"`)
	err = shop.May(access.RightOperate, "")
	require.ErrorContains(t, err, "the token shop (caller) lacks the right to operate: the call needs a token of role operator, admin")
	anywhere := access.Token{Name: "shop", Role: access.RoleCaller, BizTypes: []string{access.AnyBizType}}
	require.False(t, anywhere.Bound())
	require.NoError(t, anywhere.May(access.RightIssue, "CLAIM"))
	require.NoError(t, (&access.Token{Role: access.RoleAuditor}).May(access.RightLook, "CLAIM"))
}

func TestTextsHaveAShapeThatScannersFind(t *testing.T) {
	shape := regexp.MustCompile(`^lacuna_[a-z][a-z0-9-]{0,31}_[0-9A-Za-z]{43}$`)
	seen := map[string]bool{}
	for range 1000 {
		text, hash := access.NewText("shop-1")
		require.Regexp(t, shape, text)
		require.False(t, seen[text])
		seen[text] = true
		name, again, ok := access.HashOf(text)
		require.True(t, ok)
		require.Equal(t, "shop-1", name)
		require.Equal(t, hash, again)
	}
	text, _ := access.NewText("shop")
	for _, bad := range []string{
		"", "lacuna_", "lacuna_shop_", text[:len(text)-1], text + "0", text + "\n", "x" + text, strings.ToUpper(text), strings.Replace(text, "_shop_", "__", 1),
		strings.Replace(text, "shop", "Shop", 1), strings.Replace(text, "shop", strings.Repeat("s", 33), 1), text[:len(text)-1] + "-", text[:len(text)-1] + "é",
		strings.Repeat("lacuna_", 10_000),
	} {
		_, _, ok := access.HashOf(bad)
		require.False(t, ok, "%.80q", bad)
	}
}

func TestTokensAreValidated(t *testing.T) {
	good := access.Token{Name: "shop", Role: access.RoleCaller, BizTypes: []string{"ORDER"}}
	require.NoError(t, good.Validate(0))
	require.NoError(t, good.Validate(720*time.Hour))
	require.NoError(t, access.Token{Name: "mia", Role: access.RoleAdmin}.Validate(0))
	for field, change := range map[string]func(*access.Token){
		"name":          func(t *access.Token) { t.Name = "a_b" },
		"role":          func(t *access.Token) { t.Role = 0 },
		"bizTypes":      func(t *access.Token) { t.BizTypes = nil },
		"rate":          func(t *access.Token) { t.Rate = -1 },
		"abandonBudget": func(t *access.Token) { t.AbandonBudget = access.MaxAbandonBudget + 1 },
	} {
		token := good
		change(&token)
		err := token.Validate(0)
		require.ErrorIs(t, err, sequence.ErrInvalid)
		require.ErrorContains(t, err, field+": ")
	}
	for _, name := range []string{"", "1a", "Mia", "anonymous", "caller", "lacuna", "a b", strings.Repeat("a", 33)} {
		require.ErrorIs(t, access.ValidateName(name), sequence.ErrInvalid, name)
	}
	require.ErrorContains(t, access.Token{Name: "shop", Role: access.RoleCaller, BizTypes: []string{"order"}}.Validate(0), "bizTypes: ")
	require.ErrorContains(t, access.Token{Name: "shop", Role: access.RoleAdmin, BizTypes: []string{"ORDER"}}.Validate(0), "bizTypes: ")
	require.ErrorContains(t, good.Validate(time.Millisecond), "lifetime: ")
}
