import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { Catalogs } from '../../../src/catalog/catalogs.ts';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { BoardsDue } from '../../../src/engine/leaderboards/boards-due.ts';
import { BoardsByTheClock } from './boards-by-the-clock.ts';

type Board = NonNullable<Configuration['leaderboards']>[number];

const DAILY = { rankBy: 'metric', metricKey: 'm', start: '2030-03-01', runUnit: 'day', runInterval: 1 } as const;
const BOARDS: Board[] = [
  { ...DAILY, key: 'broken', name: 'Broken', status: 'active' },
  { ...DAILY, key: 'slow', name: 'Slow', status: 'active' },
];
/** Longer than a piece of work is set aside after its first failure (s). */
const SLOW = 0.5;

let boards: BoardsByTheClock;
beforeAll(async () => {
  boards = await BoardsByTheClock.start('2030-03-01T12:00:00Z', BOARDS);
  await boards.laurel.pool.query(`
    CREATE FUNCTION hinder() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF NEW.board_no = (SELECT no FROM catalog_resources WHERE doc ->> 'key' = 'broken') THEN
        RAISE EXCEPTION 'refused for the test' USING ERRCODE = 'check_violation';
      END IF;
      PERFORM pg_sleep(${SLOW});
      RETURN NEW;
    END $$;
    CREATE TRIGGER hindered BEFORE INSERT ON board_snapshots FOR EACH ROW EXECUTE FUNCTION hinder()`);
});
afterAll(() => boards.laurel.close());

test('a run waits for its snapshots, even if the failed one may be tried again before the others are taken', async () => {
  await boards.event('ada', 5);
  await boards.at('2030-03-02T18:00:00Z');
  const { redis, pool } = boards.laurel;
  const catalogs = new Catalogs(pool);
  onTestFinished(() => catalogs.close());
  const failures: unknown[] = [];
  const work = new BoardsDue({
    redis,
    pool,
    catalogs,
    onWritten: () => undefined,
    graceMs: 0,
    onFailed: ({ error }) => void failures.push(error),
  });
  const pass = async (): Promise<boolean> => {
    const nowMs = boards.clock.now();
    const dueMs = await work.due(nowMs);
    if (dueMs !== null) await work.perform(dueMs, new AbortController().signal, dueMs + 1, nowMs);
    return dueMs !== null;
  };
  const keys = async (table: string): Promise<string[]> => {
    const { rows } = await pool.query<{ key: string }>(
      `SELECT DISTINCT doc ->> 'key' AS key FROM ${table} JOIN catalog_resources ON no = board_no AND kind = 'leaderboard' ORDER BY 1`,
    );
    return rows.map(({ key }) => key);
  };

  expect(await pass()).toBe(true);
  expect(failures).toHaveLength(1);
  expect(await keys('board_runs')).toEqual(['slow']);
  await pool.query('DROP TRIGGER hindered ON board_snapshots');
  await expect.poll(async () => ((await pass()) ? [] : keys('board_runs'))).toEqual(['broken', 'slow']);
  expect(await keys('board_snapshots')).toEqual(['broken', 'slow']);
});
