/**
 * Schema 1. `created_at` is the row id, so inserts append and `load` reads in order. An entry whose `at` is
 * not the listing's `updated_at` was overtaken. The newest row is the store's clock: the changelog is never
 * emptied.
 */
export const SCHEMA = `
CREATE TABLE publisher (
  publisher_id   INTEGER PRIMARY KEY,
  scheme         TEXT NOT NULL,
  identifier     TEXT NOT NULL,
  storefront_url TEXT,
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  UNIQUE (scheme, identifier)
) STRICT;

CREATE TABLE listing (
  created_at           INTEGER PRIMARY KEY,
  listing_id           TEXT NOT NULL UNIQUE,
  publisher_id         INTEGER NOT NULL REFERENCES publisher,
  status               TEXT NOT NULL,
  updated_at           INTEGER NOT NULL,
  offer_resource       TEXT NOT NULL,
  accepted_escrows     TEXT NOT NULL,
  demands              TEXT NOT NULL,
  max_duration_seconds TEXT NOT NULL,
  oracle_address       TEXT NOT NULL
) STRICT;

CREATE TABLE api_key (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  scope      TEXT NOT NULL,
  hash       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT;

CREATE TABLE signature_use (
  signature      TEXT NOT NULL,
  operation      TEXT NOT NULL,
  listing_id     TEXT NOT NULL,
  body           TEXT NOT NULL,
  storefront_url TEXT,
  answer         TEXT NOT NULL,
  expires_at     INTEGER NOT NULL,
  PRIMARY KEY (signature, operation, listing_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX signature_use_expiry ON signature_use (expires_at);

CREATE TABLE changelog (
  seq  INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  id   ANY NOT NULL,
  at   INTEGER NOT NULL
) STRICT`

/** Later additions to schema 1, which older versions can ignore. `forgotten_use` has one row at most. */
export const ADDED = `
CREATE TABLE IF NOT EXISTS forgotten_use (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS listing_publisher ON listing (publisher_id);
CREATE TABLE IF NOT EXISTS ping (
  id      INTEGER PRIMARY KEY,
  at      INTEGER NOT NULL,
  padding BLOB NOT NULL
) STRICT`
