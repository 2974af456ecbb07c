import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Pool } from 'pg';
import { v7 } from 'uuid';
import { preparePlainService } from '../../bench/plain-service/prepare.ts';
import { recordBatch } from '../../bench/plain-service/record-batch.ts';
import { benchShape } from '../../bench/load.ts';
import { EventMaker } from '../../src/cli/load/events.ts';
import { DEMO } from '../../src/catalog/demo.ts';
import type { Catalog } from '../../src/domain/catalog.ts';
import type { EventResponse } from '../../src/domain/event.ts';
import { createPool } from '../../src/postgres/pool.ts';
import { loadCatalog } from '../../src/postgres/catalog.ts';
import { startLaurel } from '../laurel.ts';
import { opened } from '../stack/opened.ts';

interface PlainAnswer {
  total: number;
  achievements: number[] | null;
  streak: { length: number; extended: boolean };
  points: { total: number };
  leaderboards: { board: number; score: number; previousRank: number | null; rank: number }[];
}

let catalog: Catalog;
let plain: Pool;

const laurel = opened(() => startLaurel({ configuration: DEMO }));
beforeAll(async () => {
  catalog = (await loadCatalog(laurel.pool, 0))!;
  plain = createPool(await preparePlainService(laurel.databaseUrl, { catalog, users: 0 }), { max: 1 });
});
afterAll(async () => {
  await plain.end();
});

test("the plain service of the bench does the same work: its answers equal Laurel's", async () => {
  const maker = new EventMaker({
    shape: await benchShape(catalog),
    crowd: { users: 12 },
    seed: Number(process.env['SEED']),
    keyed: 0,
  });
  const metricNo = new Map(catalog.metrics.map(({ key, no }) => [key, no]));
  const achievementKey = new Map(catalog.achievements.map(({ no, key }) => [no, key]));
  const boardKey = new Map(catalog.leaderboards.map(({ no, key }) => [no, key]));
  for (let round = 0; round < 150; round++) {
    const { metricKey, event } = maker.next();
    // Fixed attributes: the plain service does not move a score into another group.
    event.user.attributes = { country: `country-${event.user.id.length}`, plan: 'pro' };
    const answer = await laurel.app.post(`/v1/metrics/${metricKey}/event`, event);
    const ours = answer.body as EventResponse;
    const { rows } = await plain.query<{ answer: PlainAnswer }>(
      'SELECT record_event($1, $2, $3, $4, $5, $6, $7, NULL, now(), true) AS answer',
      [
        v7(),
        event.user.id,
        event.user.tz ?? null,
        JSON.stringify(event.user.attributes ?? {}),
        metricNo.get(metricKey),
        event.value,
        event.attributes === undefined ? null : JSON.stringify(event.attributes),
      ],
    );
    const theirs = rows[0]!.answer;
    expect(theirs.total).toBe(ours.total);
    expect(theirs.streak).toEqual({
      length: ours.currentStreak?.length,
      extended: ours.currentStreak?.extended,
    });
    expect(new Set((theirs.achievements ?? []).map((no) => achievementKey.get(no)))).toEqual(
      new Set(ours.achievements.map(({ key }) => key)),
    );
    const xp = ours.points['xp'];
    if (xp !== undefined) expect(theirs.points.total).toBe(xp.total);
    for (const board of theirs.leaderboards) {
      const key = boardKey.get(board.board)!;
      expect({ key, rank: board.rank, previousRank: board.previousRank }).toEqual({
        key,
        rank: ours.leaderboards[key]?.rank,
        previousRank: ours.leaderboards[key]?.previousRank,
      });
    }
    expect(theirs.leaderboards).toHaveLength(Object.keys(ours.leaderboards).length);
  }
});

test('records a batch like its events one by one, and keeps ranks for both', async () => {
  const metrics = new Map(catalog.metrics.map(({ key, no }) => [key, no]));
  const maker = new EventMaker({
    shape: await benchShape(catalog),
    crowd: { users: 20 },
    seed: Number(process.env['SEED']),
    keyed: 0.5,
  });
  const events = Array.from({ length: 200 }, () => {
    const { metricKey: key, event, idempotencyKey } = maker.next();
    return { key, ...event, ...(idempotencyKey !== null && { idempotencyKey }) };
  });
  const { rows: before } = await plain.query<{ count: number }>('SELECT count(*)::int AS count FROM events');
  const answers = await recordBatch(plain, [...events, events.find(({ idempotencyKey }) => idempotencyKey)!], metrics);
  expect(answers.filter((answer) => (answer as { idempotentReplayed?: true }).idempotentReplayed)).toHaveLength(1);
  const { rows: after } = await plain.query<{ count: number }>('SELECT count(*)::int AS count FROM events');
  expect(after[0]!.count - before[0]!.count).toBe(events.length);
  const { rows: wrong } = await plain.query(
    `SELECT * FROM (SELECT board, run, grp, floor(score)::bigint AS whole, count(*)::bigint AS members FROM scores GROUP BY 1, 2, 3, 4)
       AS counted FULL JOIN (SELECT * FROM standings WHERE members <> 0) AS kept USING (board, run, grp, whole, members)
      WHERE counted IS NULL OR kept IS NULL`,
  );
  expect(wrong).toEqual([]);
});
