-- Users who were created at the same time of day, in order, so that those of one millisecond (an import) are read in pages.

SET LOCAL lock_timeout = '5s';
CREATE INDEX users_of_moment ON users (tenant_no, (epoch_ms(created) % 86400000), id);
DROP INDEX users_time_of_first_sight;
