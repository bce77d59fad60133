-- +goose Up

-- Who may call the API. Of a token's text only the SHA-256 is kept: it holds 256 bits of chance, which nobody
-- can guess from a hash, slow or not. Rows are only added and revoked: names stay with what their holders did.
CREATE TABLE t_seq_token (
  id                  BIGINT       NOT NULL AUTO_INCREMENT,
  name                VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  hash                BINARY(32)   NOT NULL,
  -- caller, auditor, operator or admin.
  role                VARCHAR(16)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- The biz types that a caller may touch, a JSON array of names; "*" is all of them.
  biz_types           TEXT         CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- Calls a second; 0 is the default.
  rate                INT          NOT NULL,
  -- Abandonments a minute, above which people are told; 0 is the default.
  abandon_budget      BIGINT       NOT NULL,
  created_by          VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  created_time        DATETIME(6)  NOT NULL,
  expire_time         DATETIME(6)  NULL,
  revoked_by          VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  revoked_time        DATETIME(6)  NULL,
  -- Written once a minute at most.
  last_used_time      DATETIME(6)  NULL,
  PRIMARY KEY (id),
  UNIQUE KEY uk_token_name (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- What tokens abandoned in minutes in which they went over their budget, for alerts.
CREATE TABLE t_seq_token_excess (
  id            BIGINT       NOT NULL AUTO_INCREMENT,
  token         VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  budget        BIGINT       NOT NULL,
  abandoned     BIGINT       NOT NULL,
  excess_time   DATETIME(6)  NOT NULL,
  alerted_time  DATETIME(6)  NULL,
  PRIMARY KEY (id),
  KEY idx_excess_alerted (alerted_time, token, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- +goose Down
DROP TABLE t_seq_token_excess;
DROP TABLE t_seq_token;
