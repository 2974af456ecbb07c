-- Where a change came from, and the user it is about. The column is not called user_id: the log keeps the ID of a user
-- who is deleted (that is what it is asked about), until AUDIT_RETENTION_DAYS are over.
ALTER TABLE audit_log
  ADD COLUMN about_user text,
  -- the address that the request came from, and the ID in its X-Request-Id; null where no request asked
  ADD COLUMN address text,
  ADD COLUMN request_id text;
CREATE INDEX audit_log_about_user ON audit_log (tenant_no, about_user, no) WHERE about_user IS NOT NULL;
-- Old entries are found by it.
CREATE INDEX audit_log_at ON audit_log (at);
