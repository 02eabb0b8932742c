-- +goose Up
CREATE TABLE record (
    seq     BIGINT PRIMARY KEY,
    type    TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    at      BIGINT NOT NULL,
    server  TEXT    NOT NULL,
    tool    TEXT    NOT NULL,
    kind    TEXT    NOT NULL,
    caller  TEXT    NOT NULL,
    session TEXT    NOT NULL,
    task    TEXT    NOT NULL,
    hash    BYTEA   NOT NULL,
    body    TEXT    NOT NULL
);
CREATE INDEX record_id ON record (id);
CREATE TABLE record_head (
    one   BIGINT PRIMARY KEY CHECK (one = 1),
    seq   BIGINT NOT NULL,
    hash  BYTEA   NOT NULL,
    kept  BIGINT NOT NULL,
    bytes BIGINT NOT NULL
);
INSERT INTO record_head (one, seq, hash, kept, bytes) VALUES (1, 0, '', 0, 0);
CREATE TABLE approvals (
    id         TEXT    PRIMARY KEY,
    status     TEXT    NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    body       TEXT    NOT NULL
);
CREATE INDEX approvals_created ON approvals (created_at);

-- +goose Down
DROP TABLE approvals;
DROP TABLE record_head;
DROP TABLE record;
