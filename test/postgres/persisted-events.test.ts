import { expect, test } from 'vitest';
import { findPersistedEvents } from '../../src/postgres/persisted-events.ts';
import { testDatabase } from './database.ts';
import { opened } from '../stack/opened.ts';

const database = opened(() => testDatabase());

test('value and total return exactly where doubles would round them', async () => {
  const id = '0197f0000000700080000000abcd0000';
  await database.pool.query(
    `INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date)
     VALUES ($1, 0, 'ada', 1, 999999999999.999999, -999999999999999.999999, '2026-11-18T12:00:00Z', '2026-11-18')`,
    [id],
  );
  const found = await findPersistedEvents(database.pool, [id]);
  expect(found.get(id)).toMatchObject({ v: [999_999_999_999, 999_999], t: [-999_999_999_999_999, -999_999] });
});
