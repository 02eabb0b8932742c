-- +goose Up
CREATE INDEX record_begun ON record (kind) WHERE type = 'begun';

-- +goose Down
DROP INDEX record_begun;
