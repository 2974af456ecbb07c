-- When the clock counts a user's full years since the sign-up date next, epoch ms; null: there is no such date. It changes
-- once a year, with the date and with the zone, so that other updates stay HOT.
ALTER TABLE users ADD COLUMN anniversary_ms bigint;
CREATE INDEX users_by_anniversary ON users (anniversary_ms) WHERE anniversary_ms IS NOT NULL;
