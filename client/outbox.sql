-- One row per number whose transaction was committed and whose confirm is not answered yet. It is
-- written inside the caller's transaction: it exists if and only if that was committed.
CREATE TABLE IF NOT EXISTS lacuna_outbox (
  ticket        VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  biz_key       VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  -- confirm: the transaction was committed. tombstone: it was not and never will be.
  meaning       VARCHAR(16)  CHARACTER SET ascii NOT NULL,
  created_time  DATETIME(6)  NOT NULL,
  -- Set where the confirm was refused: a person must look. Such a row is not repeated.
  refusal       VARCHAR(512) NULL,
  PRIMARY KEY (ticket),
  KEY idx_open (refusal, created_time)
) ENGINE = InnoDB
