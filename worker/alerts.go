package main

import (
	"context"

	"github.com/lacuna-seq/lacuna/internal/alert"
	"github.com/lacuna-seq/lacuna/internal/config"
	"github.com/lacuna-seq/lacuna/internal/runlink"
	"github.com/lacuna-seq/lacuna/internal/startup"
)

// startAlerts tells people of numbers that need them, until ctx ends.
func startAlerts(ctx context.Context, p *startup.Process, settings config.Worker) error {
	var channel alert.Channel = alert.Log{To: p.Log}
	if settings.AlertURL != "" {
		channel = alert.Webhook{URL: settings.AlertURL, Format: alert.Format(settings.AlertFormat)}
	}
	sender, err := alert.NewSender(p.Ledger, channel, runlink.Maker{UI: settings.TemporalUIURL, Namespace: p.Namespace}, p.Log, p.Meters.Meter("lacuna"))
	if err != nil {
		return err
	}
	go sender.Run(ctx)
	return nil
}
