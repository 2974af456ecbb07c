import { expect, test } from 'vitest';
import { createAnniversaries } from '../../../src/engine/achievements/anniversaries.ts';
import { testDatabase } from '../../postgres/database.ts';
import { opened } from '../../stack/opened.ts';

const database = opened(() => testDatabase({ redis: false }));

test('an idle schedule sleeps until the next anniversary instead of checking every second', async () => {
  const { pool } = database;
  const counted: string[] = [];
  const anniversaries = createAnniversaries(pool, {
    count: async (users) => counted.push(...users.map(({ userId }) => userId)) > 0,
  });
  expect(await anniversaries.upcoming(Date.UTC(2031, 0, 1))).toBeNull();
  const nextMs = Date.UTC(2030, 4, 17);
  await pool.query(
    `INSERT INTO users (tenant_no, id, created, state, attributes, points, anniversary_ms)
     VALUES (0, 'later', now(), '', '{}', '{}', $1::bigint + 5), (0, 'first', now(), '', '{}', '{}', $1), (0, 'never', now(), '', '{}', '{}', NULL)`,
    [nextMs],
  );
  expect(await anniversaries.upcoming(nextMs - 1)).toBeNull();
  expect(await anniversaries.upcoming(nextMs + 10_000)).toBe(nextMs);
  // Looking ahead does nothing.
  expect(counted).toEqual([]);
});
