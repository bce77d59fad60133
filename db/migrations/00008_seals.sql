-- +goose Up

-- How long after its seal a number stays in t_seq_issue_log. 0: for good.
ALTER TABLE t_seq_biz_type ADD COLUMN archive_after_ms BIGINT NOT NULL DEFAULT 0 AFTER track_after_ms;

-- A chain per biz type: each row names the hash of the one before. Append-only; docs/design.md says what is hashed.
-- SEAL: the values lo to hi, all of them final or skipped. AMENDMENT: a number that was sealed RETIRED and confirmed
-- late, lo = hi.
CREATE TABLE t_seq_seal (
  biz_type       VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- From 1, without a gap.
  number         BIGINT       NOT NULL,
  kind           VARCHAR(16)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  period         VARCHAR(8)   CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  lo             BIGINT       NOT NULL,
  hi             BIGINT       NOT NULL,
  -- Of a seal: how many numbers stood in each state, how many values were skipped, the sum of the lives, and the
  -- SHA-256 of the block.
  confirmed      BIGINT       NOT NULL DEFAULT 0,
  retired        BIGINT       NOT NULL DEFAULT 0,
  skipped        BIGINT       NOT NULL DEFAULT 0,
  lives          BIGINT       NOT NULL DEFAULT 0,
  content_hash   VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  -- Of an amendment: the ticket that was confirmed, and for what.
  seq_no         VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  life           INT          NOT NULL DEFAULT 0,
  biz_key        VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  sealed_time    DATETIME(6)  NOT NULL,
  previous_hash  CHAR(64)     CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  hash           CHAR(64)     CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (biz_type, number),
  UNIQUE KEY uk_seal_range (biz_type, period, kind, lo)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- The end of each chain, so that it shows when something is cut off it. Whoever appends locks it.
CREATE TABLE t_seq_seal_head (
  biz_type  VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  number    BIGINT      NOT NULL,
  hash      CHAR(64)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- The numbers of all seals up to this one have been moved to t_seq_archive.
  archived  BIGINT      NOT NULL DEFAULT 0,
  PRIMARY KEY (biz_type)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- The values of each period that blocks have been made of: from lo up to the one before next_lo. Each of those blocks
-- is in t_seq_seal_open or sealed.
CREATE TABLE t_seq_seal_frontier (
  biz_type  VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  period    VARCHAR(8)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  lo        BIGINT      NOT NULL,
  next_lo   BIGINT      NOT NULL,
  PRIMARY KEY (biz_type, period)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- The blocks that are allocated to their end and not sealed.
CREATE TABLE t_seq_seal_open (
  biz_type   VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  period     VARCHAR(8)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  lo         BIGINT      NOT NULL,
  hi         BIGINT      NOT NULL,
  -- When it is looked at again, and the first value that was not final when it was last looked at.
  look_time  DATETIME(6) NOT NULL,
  waits_for  BIGINT      NULL,
  PRIMARY KEY (biz_type, period, lo),
  KEY idx_open_look (look_time)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Numbers of sealed blocks that were moved out of t_seq_issue_log: its columns, and its ids.
CREATE TABLE t_seq_archive (
  id              BIGINT       NOT NULL,
  biz_type        VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  period          VARCHAR(8)   CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  seq_no          VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  value           BIGINT       NOT NULL,
  life            INT          NOT NULL,
  replays         INT          NOT NULL,
  batch_id        VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  status          TINYINT      NOT NULL,
  tracked         BOOLEAN      NOT NULL,
  durable         BOOLEAN      NOT NULL,
  biz_key         VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  issued_time     DATETIME(6)  NULL,
  confirmed_time  DATETIME(6)  NULL,
  abandoned_time  DATETIME(6)  NULL,
  deadline        DATETIME(6)  NULL,
  taken_until     DATETIME(6)  NULL,
  taken_by        VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  retry_times     INT          NOT NULL,
  version         BIGINT       NOT NULL,
  owner           VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  reason          VARCHAR(255) NOT NULL,
  archived_time   DATETIME(6)  NOT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY uk_biz_seq (biz_type, seq_no),
  UNIQUE KEY uk_value (biz_type, period, value),
  KEY idx_biz_key (biz_type, biz_key),
  CONSTRAINT ck_archive_final CHECK (status IN (2, 7)),
  CONSTRAINT ck_archive_confirmed CHECK ((status = 2) = (confirmed_time IS NOT NULL))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- +goose Down
DROP TABLE t_seq_archive;
DROP TABLE t_seq_seal_open;
DROP TABLE t_seq_seal_frontier;
DROP TABLE t_seq_seal_head;
DROP TABLE t_seq_seal;
ALTER TABLE t_seq_biz_type DROP COLUMN archive_after_ms;
