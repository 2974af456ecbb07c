-- A group of a board's run is found by a digest of its name: the name holds the users' own texts, and an index entry may
-- have no more than 2,704 bytes.
CREATE FUNCTION text_digest(text) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN sha256(convert_to($1, 'UTF8'));

ALTER TABLE board_run_groups DROP CONSTRAINT board_run_groups_run_id_name_key;
CREATE UNIQUE INDEX board_run_groups_of_run ON board_run_groups (run_id, text_digest(name));
