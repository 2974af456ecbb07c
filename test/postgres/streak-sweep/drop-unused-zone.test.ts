import { beforeAll, beforeEach, expect, test } from 'vitest';
import { lockCursor, readCursor } from '../../../src/postgres/shards.ts';
import { noteZones } from '../../../src/postgres/persist/users.ts';
import { dropUnusedZone } from '../../../src/postgres/streak-sweep.ts';
import { transaction } from '../../../src/postgres/transaction.ts';
import { testDatabase } from '../database.ts';
import { opened } from '../../stack/opened.ts';

const database = opened(() => testDatabase());
beforeAll(async () => {
  await readCursor(database.pool, 0);
});

const TOKYO = { tenantNo: 0, zone: 'Asia/Tokyo', shards: [0] };
beforeEach(async () => {
  await database.pool.query('TRUNCATE users, streak_zones');
  await transaction(database.pool, (client) => noteZones(client, [{ ...TOKYO, atMs: 0 }]));
});

const rows = async (): Promise<number | null> =>
  (await database.pool.query(`SELECT FROM streak_zones WHERE zone = 'Asia/Tokyo'`)).rowCount;
const waiting = async (): Promise<number | null> =>
  (
    await database.pool.query(
      `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    )
  ).rowCount;

/** Writes a user of the zone like a persister; `meanwhile` runs before it commits. */
const persist = (id: string, meanwhile: () => Promise<unknown> = async () => undefined): Promise<void> =>
  transaction(database.pool, async (client) => {
    await lockCursor(client, 0);
    await client.query(
      `INSERT INTO users (tenant_no, id, created, state, attributes, points, zone)
       VALUES (0, $1, now(), '', '{}', '{}', 'Asia/Tokyo')`,
      [id],
    );
    await noteZones(client, [{ ...TOKYO, atMs: 0 }]);
    await meanwhile();
  });

test('removes a zone without users, once', async () => {
  expect(await dropUnusedZone(database.pool, TOKYO)).toBe(true);
  expect(await rows()).toBe(0);
  expect(await dropUnusedZone(database.pool, TOKYO)).toBe(false);
  await persist('a');
  expect(await rows()).toBe(1);
});

test('a zone with a user stays', async () => {
  await persist('a');
  expect(await dropUnusedZone(database.pool, TOKYO)).toBe(false);
  expect(await rows()).toBe(1);
});

test('a user who joins at that moment keeps it', async () => {
  let dropped: Promise<boolean> | undefined;
  await persist('a', async () => {
    dropped = dropUnusedZone(database.pool, TOKYO);
    await expect.poll(waiting).toBe(1);
  });
  expect(await dropped).toBe(false);
  expect(await rows()).toBe(1);
});
