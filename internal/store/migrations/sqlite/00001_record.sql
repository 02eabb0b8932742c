-- +goose Up
CREATE TABLE record (
    seq     INTEGER PRIMARY KEY,
    type    TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    server  TEXT    NOT NULL,
    tool    TEXT    NOT NULL,
    kind    TEXT    NOT NULL,
    caller  TEXT    NOT NULL,
    session TEXT    NOT NULL,
    task    TEXT    NOT NULL,
    hash    BLOB    NOT NULL,
    body    TEXT    NOT NULL
);
CREATE INDEX record_id ON record (id);
CREATE TABLE record_head (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    seq   INTEGER NOT NULL,
    hash  BLOB    NOT NULL,
    kept  INTEGER NOT NULL,
    bytes INTEGER NOT NULL
);
INSERT INTO record_head (one, seq, hash, kept, bytes) VALUES (1, 0, x'', 0, 0);
CREATE TABLE approvals (
    id         TEXT    PRIMARY KEY,
    status     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    body       TEXT    NOT NULL
);
CREATE INDEX approvals_created ON approvals (created_at);

-- +goose Down
DROP TABLE approvals;
DROP TABLE record_head;
DROP TABLE record;
