package alert

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// sendTimeout ends one try to send.
const sendTimeout = 5 * time.Second

// Format is how a webhook wants its alerts.
type Format string

// The formats of webhooks.
const (
	FormatJSON     Format = "json"     // an Alert
	FormatSlack    Format = "slack"    // {"text": …}, as Slack and those that follow it read
	FormatFeishu   Format = "feishu"   // a text message
	FormatDingTalk Format = "dingtalk" // a text message
)

// Formats lists every format.
var Formats = [...]Format{FormatJSON, FormatSlack, FormatFeishu, FormatDingTalk}

// Log is the channel where no webhook is configured: an error line.
type Log struct{ To *slog.Logger }

// Send writes the line.
func (l Log) Send(ctx context.Context, a Alert) error {
	l.To.ErrorContext(ctx, a.Text(), "kind", a.Kind, "biz_type", a.BizType, "count", a.Count)
	return nil
}

// Webhook posts alerts to an address.
type Webhook struct {
	URL    string // may hold a secret: it stands in no error
	Format Format
}

// Send posts the alert. Only an answer of 2xx is a success, and of Feishu and DingTalk only one whose body
// says so: they answer 200 to what they refuse.
func (w Webhook) Send(ctx context.Context, a Alert) error {
	body, err := json.Marshal(w.message(a))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("alert: the webhook's address cannot be read")
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("alert: post to %s: %w", r.URL.Host, withoutURL(err))
	}
	defer response.Body.Close() //nolint:errcheck // nothing is left to say
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	if err != nil {
		return fmt.Errorf("alert: post to %s: %w", r.URL.Host, err)
	}
	if response.StatusCode/100 != 2 || !w.took(answer) {
		return fmt.Errorf("alert: %s answered %s: %.200s", r.URL.Host, response.Status, answer)
	}
	return nil
}

func (w Webhook) message(a Alert) any {
	switch w.Format {
	case FormatSlack:
		return map[string]string{"text": a.Text()}
	case FormatFeishu:
		return map[string]any{"msg_type": "text", "content": map[string]string{"text": a.Text()}}
	case FormatDingTalk:
		return map[string]any{"msgtype": "text", "text": map[string]string{"content": a.Text()}}
	case FormatJSON:
	}
	return a
}

// took reads whether the answer says that the message was taken.
func (w Webhook) took(answer []byte) bool {
	var says struct {
		Code    int `json:"code"`    // Feishu's; 0 is a success
		ErrCode int `json:"errcode"` // DingTalk's
	}
	switch w.Format {
	case FormatFeishu, FormatDingTalk:
		return json.Unmarshal(answer, &says) == nil && says.Code == 0 && says.ErrCode == 0
	case FormatJSON, FormatSlack:
	}
	return true
}

// withoutURL takes the address, which may hold a secret, off an error of package http.
func withoutURL(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
