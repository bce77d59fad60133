-- +goose Up

-- Settings of each numbering. A cursor never lives here: settings are edited, cursors only go up.
CREATE TABLE t_seq_biz_type (
  name                VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  format              VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  step_min            INT          NOT NULL,
  step_max            INT          NOT NULL,
  confirm_timeout_ms  BIGINT       NOT NULL,
  safety_window_ms    BIGINT       NOT NULL,
  max_replays         INT          NOT NULL,
  revision            BIGINT       NOT NULL,
  PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- The highest value allocated per biz type and period. It never moves back.
CREATE TABLE t_seq_cursor (
  biz_type  VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  period    VARCHAR(8)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  value     BIGINT      NOT NULL,
  PRIMARY KEY (biz_type, period)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- One row per number, from its allocation on.
-- status: 0 RESERVED, 1 ALLOCATED, 2 CONFIRMED, 3 ABANDONED, 4 REPLAYABLE, 5 REPLAYED, 6 DEAD, 7 RETIRED.
CREATE TABLE t_seq_issue_log (
  id              BIGINT       NOT NULL AUTO_INCREMENT,
  biz_type        VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  period          VARCHAR(8)   CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  seq_no          VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  value           BIGINT       NOT NULL,
  life            INT          NOT NULL DEFAULT 0,
  replays         INT          NOT NULL DEFAULT 0,
  batch_id        VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  status          TINYINT      NOT NULL,
  tracked         BOOLEAN      NOT NULL DEFAULT FALSE,
  biz_key         VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  issued_time     DATETIME(6)  NULL,
  confirmed_time  DATETIME(6)  NULL,
  abandoned_time  DATETIME(6)  NULL,
  -- ALLOCATED: confirm by. ABANDONED: end of the safety window. REPLAYABLE: next pool check.
  deadline        DATETIME(6)  NULL,
  taken_until     DATETIME(6)  NULL,
  retry_times     INT          NOT NULL DEFAULT 0,
  version         BIGINT       NOT NULL DEFAULT 0,
  owner           VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  reason          VARCHAR(255) NOT NULL DEFAULT '',
  PRIMARY KEY (id),
  UNIQUE KEY uk_biz_seq (biz_type, seq_no),
  UNIQUE KEY uk_value (biz_type, period, value),
  KEY idx_status_deadline (status, deadline, id),
  KEY idx_biz_key (biz_type, biz_key),
  CONSTRAINT ck_issue_status    CHECK (status BETWEEN 0 AND 7),
  CONSTRAINT ck_issue_owner     CHECK ((status IN (0, 5)) = (owner <> '')),
  CONSTRAINT ck_issue_deadline  CHECK ((status IN (1, 3, 4)) = (deadline IS NOT NULL)),
  CONSTRAINT ck_issue_life      CHECK (life > 0 OR (life = 0 AND status IN (0, 4, 5, 7))),
  CONSTRAINT ck_issue_issued    CHECK (life = 0 OR issued_time IS NOT NULL),
  CONSTRAINT ck_issue_confirmed CHECK ((status = 2) = (confirmed_time IS NOT NULL)),
  CONSTRAINT ck_issue_abandoned CHECK (status <> 3 OR abandoned_time IS NOT NULL)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- What a life was, written when its number is claimed to be issued again. Append-only.
CREATE TABLE t_seq_life (
  id              BIGINT       NOT NULL AUTO_INCREMENT,
  biz_type        VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  seq_no          VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  life            INT          NOT NULL,
  batch_id        VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  biz_key         VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  issued_time     DATETIME(6)  NULL,
  abandoned_time  DATETIME(6)  NULL,
  reason          VARCHAR(255) NOT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY uk_life (biz_type, seq_no, life)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Two holders met: a confirm of a life that is over, or a second biz key on one life. Append-only.
CREATE TABLE t_seq_conflict (
  id               BIGINT       NOT NULL AUTO_INCREMENT,
  biz_type         VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  seq_no           VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  asked_life       INT          NOT NULL,
  asked_biz_key    VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  current_life     INT          NOT NULL,
  current_biz_key  VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  current_status   TINYINT      NOT NULL,
  current_issued   DATETIME(6)  NULL,
  detected_time    DATETIME(6)  NOT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY uk_conflict (biz_type, seq_no, asked_life, asked_biz_key, current_life, current_biz_key)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- The processes that hand out numbers. Rows of t_seq_issue_log name their owner by this id.
CREATE TABLE t_seq_issuer (
  id            VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  host          VARCHAR(255) NOT NULL,
  started_time  DATETIME(6)  NOT NULL,
  ended_time    DATETIME(6)  NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- +goose Down
DROP TABLE t_seq_issuer;
DROP TABLE t_seq_conflict;
DROP TABLE t_seq_life;
DROP TABLE t_seq_issue_log;
DROP TABLE t_seq_cursor;
DROP TABLE t_seq_biz_type;
