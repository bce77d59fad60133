-- +goose Up

ALTER TABLE t_seq_biz_type
  ADD COLUMN time_zone     VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'UTC' AFTER format,
  -- SEGMENT, REDIS or AUTOINC.
  ADD COLUMN source        VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'SEGMENT' AFTER time_zone,
  ADD COLUMN start         BIGINT      NOT NULL DEFAULT 1 AFTER source,
  -- ANY, SAME_PERIOD or NEVER.
  ADD COLUMN reuse         VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'ANY' AFTER max_replays,
  -- LOWEST or OLDEST.
  ADD COLUMN pool_order    VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'LOWEST' AFTER reuse,
  ADD COLUMN durable_issue BOOLEAN     NOT NULL DEFAULT FALSE AFTER pool_order;

-- durable: while it is held, its caller is answered only after its record is written.
ALTER TABLE t_seq_issue_log ADD COLUMN durable BOOLEAN NOT NULL DEFAULT FALSE AFTER tracked;

-- A cursor is made with its first allocation; a row means that numbers were allocated.
DELETE FROM t_seq_cursor WHERE value = 0;

-- Values that no row stands for: a source that jumped too far for rows. A declared gap.
CREATE TABLE t_seq_skip (
  biz_type       VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  period         VARCHAR(8)   CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  lo             BIGINT       NOT NULL,
  hi             BIGINT       NOT NULL,
  reason         VARCHAR(255) NOT NULL,
  declared_time  DATETIME(6)  NOT NULL,
  PRIMARY KEY (biz_type, period, lo)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- What a keyed call of Next was answered, so that its repetition is answered the same.
CREATE TABLE t_seq_idempotency (
  caller        VARCHAR(64)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  biz_type      VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  idem_key      VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- The call whose numbers these are.
  call_id       VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  content_hash  BINARY(32)   NOT NULL,
  -- The tickets, one a line.
  tickets       MEDIUMTEXT   CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  issued_time   DATETIME(6)  NOT NULL,
  expires       DATETIME(6)  NOT NULL,
  PRIMARY KEY (caller, biz_type, idem_key),
  KEY idx_idempotency_expires (expires)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- +goose Down
DROP TABLE t_seq_idempotency;
DROP TABLE t_seq_skip;
ALTER TABLE t_seq_issue_log DROP COLUMN durable;
ALTER TABLE t_seq_biz_type DROP COLUMN durable_issue, DROP COLUMN pool_order, DROP COLUMN reuse,
  DROP COLUMN start, DROP COLUMN source, DROP COLUMN time_zone;
