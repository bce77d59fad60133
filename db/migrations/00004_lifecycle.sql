-- +goose Up

ALTER TABLE t_seq_biz_type
  ADD COLUMN extend_limit_ms BIGINT       NOT NULL DEFAULT 3600000 AFTER confirm_timeout_ms,
  -- ABANDON or DEAD_LETTER.
  ADD COLUMN on_timeout      VARCHAR(16)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'ABANDON' AFTER extend_limit_ms,
  -- How the business is asked whether it holds a number, as JSON; empty where it is not.
  ADD COLUMN probe           TEXT         NOT NULL DEFAULT ('') AFTER durable_issue,
  -- The pauses between attempts in milliseconds, with commas between.
  ADD COLUMN retry_delays_ms VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '30000,120000,300000' AFTER probe,
  ADD COLUMN direct_signals  BOOLEAN      NOT NULL DEFAULT TRUE AFTER retry_delays_ms,
  -- The deadlines of numbers that wait are not all of the present rules yet.
  ADD COLUMN retime_due      BOOLEAN      NOT NULL DEFAULT FALSE AFTER direct_signals;

-- The dead letters: a copy of the row as it died, and what came of it. resolution is empty while a
-- person must act. A number that dies again has a further row.
CREATE TABLE t_seq_issue_dead (
  id              BIGINT       NOT NULL AUTO_INCREMENT,
  biz_type        VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  period          VARCHAR(8)   CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  seq_no          VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  value           BIGINT       NOT NULL,
  life            INT          NOT NULL,
  replays         INT          NOT NULL,
  batch_id        VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- The state that it died in: 1 ALLOCATED, 3 ABANDONED or 4 REPLAYABLE.
  status          TINYINT      NOT NULL,
  tracked         BOOLEAN      NOT NULL,
  biz_key         VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  issued_time     DATETIME(6)  NULL,
  abandoned_time  DATETIME(6)  NULL,
  retry_times     INT          NOT NULL,
  version         BIGINT       NOT NULL,
  -- POOL_AWAY, PROBE_AWAY, CANCELLED or NOT_CONFIRMED.
  cause           VARCHAR(16)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  dead_reason     VARCHAR(255) NOT NULL,
  dead_time       DATETIME(6)  NOT NULL,
  -- RESCUED, REQUEUED or WRITTEN_OFF.
  resolution      VARCHAR(16)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  handled_by      VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  handled_time    DATETIME(6)  NULL,
  alerted_time    DATETIME(6)  NULL,
  PRIMARY KEY (id),
  KEY idx_dead_open (resolution, id),
  KEY idx_dead_number (biz_type, seq_no, id),
  KEY idx_dead_alerted (alerted_time, biz_type, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- What was out of the ordinary in a number's lives, and what operators did. Append-only.
CREATE TABLE t_seq_event (
  id           BIGINT       NOT NULL AUTO_INCREMENT,
  biz_type     VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  seq_no       VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  life         INT          NOT NULL,
  -- caller, lacuna, or an operator's name.
  actor        VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  -- RECOVERED, RESCUED, FOUND, RETIRED, DEAD, REQUEUED or WRITTEN_OFF.
  outcome      VARCHAR(16)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  from_status  TINYINT      NOT NULL,
  to_status    TINYINT      NOT NULL,
  reason       VARCHAR(255) NOT NULL,
  event_time   DATETIME(6)  NOT NULL,
  PRIMARY KEY (id),
  KEY idx_event_number (biz_type, seq_no, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- When the next alert of a kind may go out for a biz type, whichever process sends it.
CREATE TABLE t_seq_alert (
  kind       VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  biz_type   VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  next_time  DATETIME(6) NOT NULL,
  PRIMARY KEY (kind, biz_type)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Conflicts of before count as alerted.
ALTER TABLE t_seq_conflict ADD COLUMN alerted_time DATETIME(6) NULL, ADD KEY idx_conflict_alerted (alerted_time, biz_type, id);
UPDATE t_seq_conflict SET alerted_time = detected_time;

-- +goose Down
ALTER TABLE t_seq_conflict DROP KEY idx_conflict_alerted, DROP COLUMN alerted_time;
DROP TABLE t_seq_alert;
DROP TABLE t_seq_event;
DROP TABLE t_seq_issue_dead;
ALTER TABLE t_seq_biz_type DROP COLUMN retime_due, DROP COLUMN direct_signals, DROP COLUMN retry_delays_ms, DROP COLUMN probe,
  DROP COLUMN on_timeout, DROP COLUMN extend_limit_ms;
