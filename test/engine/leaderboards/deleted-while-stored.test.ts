import { afterEach, expect, test } from 'vitest';
import { BoardsByTheClock } from './boards-by-the-clock.ts';

// Standings are read from Redis and then stored. A user who is deleted in between must not reappear with them.

let boards: BoardsByTheClock;
afterEach(() => boards.laurel.close());

const BOARD = { key: 'board', name: 'Board', status: 'active', rankBy: 'metric', metricKey: 'm' } as const;
const LEAVES = 'a-user-who-leaves';

async function start(more: { ties?: 'first' } = {}): Promise<void> {
  boards = await BoardsByTheClock.start('2026-11-18T12:00:00Z', [
    { ...BOARD, ...more, start: '2026-11-18', runUnit: 'day', runInterval: 1 },
  ]);
  await boards.event('stays', 3);
  await boards.event(LEAVES, 5);
}

/** Deletes the user and begins to store that; resolves when it is stored, or waits for another transaction. */
async function deleteMeanwhile(): Promise<{ stored: Promise<void> }> {
  const { admin, pool } = boards.laurel;
  expect((await admin.delete(`/v1/users?ids=${LEAVES}`)).body).toEqual({ deleted: [{ id: LEAVES }], issues: [] });
  let isDone = false;
  const stored = boards.store().finally(() => (isDone = true));
  const waits = async (): Promise<boolean> => {
    const { rowCount } = await pool.query(
      `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    return rowCount! > 0;
  };
  await expect.poll(async () => isDone || (await waits())).toBe(true);
  return { stored };
}

test.each([{}, { ties: 'first' as const }])(
  'a user who is deleted while a final run is copied is not in it: %j',
  async (more) => {
    await start(more);
    await boards.at('2026-11-19T12:02:00Z');
    const deletions: { stored: Promise<void> }[] = [];
    boards.onStep = async (step) => {
      if (step === 'written' && deletions.length === 0) deletions.push(await deleteMeanwhile());
    };
    await boards.due();
    await deletions[0]!.stored;
    const { rows } = await boards.laurel.pool.query<{ name: string }>(
      'SELECT user_id AS name FROM board_finals ORDER BY place',
    );
    expect(rows).toEqual([{ name: expect.stringMatching(/^deleted:/) }, { name: 'stays' }]);
  },
);

test('a user who is deleted while a snapshot is taken is not in it', async () => {
  await start();
  await boards.at('2026-11-19T01:00:00Z');
  const deletions: { stored: Promise<void> }[] = [];
  boards.onSnapshot = async () => {
    if (deletions.length === 0) deletions.push(await deleteMeanwhile());
  };
  await boards.due();
  await deletions[0]!.stored;
  const of = (name: string) =>
    boards.laurel.pool.query('SELECT FROM board_snapshot_parts WHERE position($1::bytea IN packed) > 0', [
      Buffer.from(name),
    ]);
  expect((await of(LEAVES)).rowCount).toBe(0);
  expect((await of('stays')).rowCount).toBe(1);
});
