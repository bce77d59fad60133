-- +goose Up

-- Who is signed in to the web console. Of a session's id, which its browser keeps in a cookie, only the SHA-256 is
-- kept; it holds 256 bits of chance. A session ends with its token.
CREATE TABLE t_seq_session (
  id            BIGINT       NOT NULL AUTO_INCREMENT,
  hash          BINARY(32)   NOT NULL,
  -- Of t_seq_token.
  token_id      BIGINT       NOT NULL,
  created_time  DATETIME(6)  NOT NULL,
  -- Written once a minute at most.
  seen_time     DATETIME(6)  NOT NULL,
  expire_time   DATETIME(6)  NOT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY uk_session_hash (hash),
  KEY idx_session_expire (expire_time)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- +goose Down
DROP TABLE t_seq_session;
