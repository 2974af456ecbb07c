-- Streak settings of before, oldest first: [{ streaks, earnSince, untilMs }], see `EarlierStreaks` of src/domain/catalog.ts.
ALTER TABLE tenants ADD COLUMN streaks_before jsonb NOT NULL DEFAULT '[]';
