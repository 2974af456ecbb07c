-- One user's history is read from these indexes alone (index-only scans), however large the tables are. The
-- figures are in src/engine/history/README.md; bench/history.ts makes them.

DROP INDEX events_of_user;
CREATE INDEX events_of_user ON events (tenant_no, user_id, metric_no, local_date) INCLUDE (value);

DROP INDEX awards_of_user;
CREATE INDEX awards_of_user ON awards (tenant_no, user_id, system_no, id) INCLUDE (local_date, awarded);

-- A tenant's users in an order that has nothing to do with what they do: the first n are a fair sample.
CREATE INDEX users_shuffled ON users (tenant_no, hashtextextended(id, 0), id);
