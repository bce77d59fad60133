// Package telemetry is how processes are watched: logs, metrics and traces, and the ops server that
// shows them. names.go has every name; Start assembles the rest in the starter and the worker.
package telemetry

// Metric names. A Prometheus scrape adds the suffix of counters, _total.
const (
	MetricIssued       = "lacuna_issued"
	MetricNextDuration = "lacuna_next_duration_seconds"
	MetricHeld         = "lacuna_held_numbers"
	MetricFormatUsed   = "lacuna_format_used_ratio"
	MetricClaims       = "lacuna_claims"
	MetricRecords      = "lacuna_records"
	MetricCommands     = "lacuna_commands"
	MetricBatchSize    = "lacuna_batch_size"
	MetricQueued       = "lacuna_queued"
	MetricDropped      = "lacuna_dropped"
	MetricDeliveries   = "lacuna_temporal_deliveries"
	MetricOverdue      = "lacuna_oldest_overdue_seconds"
	MetricPatrolAge    = "lacuna_patrol_age_seconds"
	MetricAlerts       = "lacuna_alerts"
	MetricRefused      = "lacuna_refused"
	MetricReachable    = "lacuna_reachable"
	MetricLeasesLost   = "lacuna_leases_lost"
	MetricLedgerBehind = "lacuna_ledger_behind"
	MetricSteps        = "lacuna_steps"
	MetricLeaseLeft    = "lacuna_lease_left_seconds"
	MetricPollers      = "lacuna_pollers"
	MetricBacklogAge   = "lacuna_backlog_age_seconds"
	MetricNumbers      = "lacuna_numbers"
	MetricWindowAge    = "lacuna_window_oldest_seconds"
	MetricPool         = "lacuna_pool_numbers"
	MetricDeadLetters  = "lacuna_dead_letters"
)

// Attribute keys of metrics, spans and log lines. Numbers and tickets stand in spans and logs only.
const (
	KeyBizType = "biz_type"
	KeySource  = "source"
	KeyQueue   = "queue"
	KeyCheck   = "check"
	KeyResult  = "result"
	KeyKind    = "kind"
	KeyOutcome = "outcome"
	KeyState   = "state"
	KeyTicket  = "ticket"
	KeyTraceID = "trace_id"
	KeySpanID  = "span_id"
	KeySize    = "size"
)

// UnknownBizType stands for every biz type that does not exist, so that a caller who makes names
// up makes no series.
const UnknownBizType = "unknown"
