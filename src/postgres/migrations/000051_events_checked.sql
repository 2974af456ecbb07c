-- Reads both tables once (some seconds for ten million rows), while others read and write them.
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_constraint WHERE conname = 'events_bound' AND conrelid = 'events'::regclass) THEN
    ALTER TABLE events VALIDATE CONSTRAINT events_bound;
    ALTER TABLE awards VALIDATE CONSTRAINT awards_bound;
  END IF;
END $$;
