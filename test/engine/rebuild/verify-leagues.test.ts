import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Leagues } from '../../../src/domain/leagues.ts';
import { Verifying } from '../../../src/engine/rebuild/verification-job.ts';
import { JobRunner } from '../../../src/engine/schedule/job-runner.ts';
import { BoardsByTheClock, DAILY } from '../leaderboards/boards-by-the-clock.ts';
import { closeLeagues } from '../leaderboards/leagues-by-the-clock.ts';
import { differencesIn } from '../../differences.ts';

let boards: BoardsByTheClock;

const leagues: Leagues = {
  tiers: ['Bronze', 'Silver', 'Gold'].map((name) => ({ name })),
  cohortUsers: 10,
  promoted: 2,
  demoted: 2,
  inactive: 'fall',
};

const USERS = Array.from({ length: 12 }, (_, n) => `u${String(n).padStart(2, '0')}`);

/** Two closed runs and an open one, on a leaderboard with groups, too. Users are imported with tiers, deleted and merged. */
beforeAll(async () => {
  const grouped = { ...DAILY, key: 'grouped', breakdownAttributes: ['land'] };
  boards = await BoardsByTheClock.start('2026-11-17T13:00:00Z', [
    { ...DAILY, leagues } as never,
    { ...grouped, leagues } as never,
  ]);
  await imported('early');
  for (const day of ['20', '21', '22']) {
    await boards.at(`2026-11-${day}T12:30:00Z`);
    const failures = await closeLeagues(boards);
    if (failures.length > 0) throw new Error(String(failures));
    // Equal values share ranks.
    for (const [n, id] of USERS.entries())
      await boards.event({ id, attributes: { land: n % 2 === 0 ? 'dk' : 'no' } }, 100 - Math.floor(n / 2));
    if (day === '20') for (const id of ['gone', 'guest', 'member']) await boards.event(id, 1);
  }
  await imported('late');
  await boards.store();
  // Deleted and merged users leave places empty.
  await boards.laurel.admin.delete('/v1/users?ids=gone');
  let merged: number | undefined;
  const merging = boards.laurel.admin.post('/v1/users/merge', { from: 'guest', into: 'member' });
  void merging.then(({ status }) => (merged = status));
  // The merge waits until Postgres has its users.
  while (merged === undefined) await boards.store();
  if (merged !== 200) throw new Error(`merge: ${merged}`);
  await boards.store();
});
afterAll(() => boards.laurel.close());

async function imported(id: string): Promise<void> {
  const users = [{ id, leaderboards: { board: { tier: 3 } } }];
  const { body } = await boards.laurel.admin.post('/v1/imports?import=file', users);
  if (body.issues.length > 0) throw new Error(JSON.stringify(body.issues));
}

const differences = () => differencesIn(boards.laurel);

/** What the job finds, in slices. */
async function foundByJob(): Promise<{ kind: string; part: string; userId: string | null; postgres: string }[]> {
  const { redis, pool, admin } = boards.laurel;
  const { body } = await admin.post('/v1/verifications', {});
  const runner = new JobRunner({
    pool,
    works: [new Verifying(redis, pool, boards.clock)],
    onFailed: ({ error }) => {
      throw error;
    },
  });
  for (;;) {
    const { body: job } = await admin.get(`/v1/verifications/${body.id}`);
    if (job.status === 'done') return job.found;
    await runner.step();
  }
}

const query = async (text: string): Promise<Record<string, unknown>[]> => (await boards.laurel.pool.query(text)).rows;

test('sound leagues have no differences', async () => {
  expect(await query('SELECT count(*)::int AS n FROM league_moves')).not.toEqual([{ n: 0 }]);
  expect(await differences()).toEqual([]);
  expect(await foundByJob()).toEqual([]);
});

test.for([
  {
    damage: `UPDATE league_tiers SET tier = 0 WHERE user_id = 'u00' AND board_no = $board`,
    part: /^league tier \d+$/,
    text: 'tier 1 stored, 3 after the newest move',
    more: 1,
  },
  {
    damage: `DELETE FROM league_tiers WHERE user_id = 'u01' AND board_no = $board`,
    part: /^league tier \d+$/,
    text: 'tier 1 stored, 3 after the newest move',
    more: 1,
  },
  {
    damage: `INSERT INTO league_tiers (tenant_no, user_id, board_no, tier)
             SELECT tenant_no, 'u09', board_no, 1 FROM league_boards WHERE board_no = $board`,
    part: /^league tier \d+$/,
    text: 'tier 2 stored, 1 after the newest move',
    more: 1,
  },
  {
    damage: `DELETE FROM league_members WHERE user_id = 'u05' AND board_no = $board AND run_day = $open`,
    part: /^league cohort \d+ 2026-11-22$/,
    text: 'no cohort stored, one expected for the score',
  },
  {
    damage: `UPDATE league_members SET cohort = NULL WHERE user_id = 'u05' AND board_no = $board AND run_day = $open`,
    part: /^league cohort \d+ 2026-11-22$/,
    text: 'no cohort stored, one expected in the open run',
  },
  {
    damage: `UPDATE league_cohorts SET group_name = 'elsewhere' WHERE board_no = $board AND run_day = $open AND members = 8`,
    part: /^$/,
    text: '8 of 8 users are of another run, part or group, 0 expected',
    more: 8,
  },
  {
    damage: `UPDATE league_cohorts SET members = members - 1 WHERE board_no = $board AND run_day = $open AND members = 8`,
    part: /^$/,
    text: '7 users counted, 8 stored',
  },
  {
    damage: `UPDATE league_cohorts SET members = 11 WHERE board_no = $board AND run_day = $open AND members = 8`,
    part: /^$/,
    text: '11 users counted, at most 10 expected',
  },
  {
    damage: `DELETE FROM league_cohorts WHERE board_no = $board AND run_day = $open AND tier = 2`,
    part: /^league cohort/,
    text: /^cohort \d+ stored, one of the same run, part and group expected$/,
    more: 1,
  },
  {
    damage: `UPDATE league_moves SET rank = 7 WHERE user_id = 'u00' AND board_no = $board AND run_day = $closed`,
    part: /^u00$/,
    text: 'from tier 2 to 3, rank 7 stored, from tier 2 to 3, rank 1 expected',
  },
  {
    damage: `DELETE FROM league_moves WHERE user_id = 'u01' AND board_no = $board AND run_day = $closed`,
    part: /^u01$/,
    text: 'no move stored, from tier 2 to 3, rank 1 expected',
    more: 1,
  },
  {
    damage: `UPDATE board_finals SET score = 500 WHERE user_id = 'u02' AND score = 99
              AND group_id IN (SELECT grp.id FROM board_run_groups AS grp JOIN board_runs AS run ON run.id = run_id
                                WHERE board_no = $board AND run_day = $closed)`,
    part: /^u03$/,
    text: 'from tier 1 to 2, rank 1 stored, from tier 1 to 2, rank 2 expected',
    more: 0,
  },
])('a damaged row: $damage', async ({ damage, part, text, more = 0 }) => {
  const [at] = await query(
    `SELECT board_no AS board, open_run_day AS open, open_run_day - 1 AS closed FROM league_boards ORDER BY board_no LIMIT 1`,
  );
  const [tables] = [['league_tiers', 'league_members', 'league_cohorts', 'league_moves', 'board_finals']];
  for (const table of tables) await query(`CREATE TABLE kept_${table} AS TABLE ${table}`);
  const changed = await boards.laurel.pool.query(damage.replaceAll(/\$(\w+)/g, (_, name: string) => String(at![name])));
  expect(changed.rowCount).toBe(1);
  const found = await differences();
  const reported = found.find((each) => part.test(each.part));
  expect(reported).toMatchObject({
    redis: 'not compared',
    postgres: typeof text === 'string' ? text : expect.stringMatching(text),
  });
  expect(found.length).toBeLessThanOrEqual(1 + more);
  expect((await foundByJob()).map((each) => each.postgres).toSorted()).toEqual(
    found.map(({ postgres }) => postgres).toSorted(),
  );
  for (const table of tables) {
    await query(`DELETE FROM ${table}`);
    await query(
      `INSERT INTO ${table} ${table === 'league_members' || table === 'league_moves' ? 'OVERRIDING SYSTEM VALUE' : ''} TABLE kept_${table}`,
    );
    await query(`DROP TABLE kept_${table}`);
  }
});

const seatsOf = (id: string) =>
  query(`SELECT cohort IS NOT NULL AS seated FROM league_members JOIN league_boards USING (tenant_no, board_no)
          WHERE user_id = '${id}' AND run_day = open_run_day`);

test('a hidden user has a score without a cohort, and gets one when shown again', async () => {
  const hide = (hidden: boolean) => boards.laurel.admin.patch('/v1/users/shy', { hidden });
  await boards.laurel.app.post('/v1/users', { id: 'shy' });
  await boards.store();
  await hide(true);
  await boards.event('shy', 7);
  await boards.store();
  expect(await seatsOf('shy')).toEqual([]);
  expect(await differences()).toEqual([]);
  await hide(false);
  await boards.store();
  expect(await seatsOf('shy')).toEqual([{ seated: true }]);
  expect(await differences()).toEqual([]);
});

test('a reversal that gives a user the first score of a run gives a cohort', async () => {
  const { eventId } = await boards.event('debtor', -3);
  await boards.event('debtor', 1);
  await boards.store();
  expect(await seatsOf('debtor')).toEqual([]);
  expect((await boards.laurel.admin.post(`/v1/events/${eventId}/reverse`, {})).status).toBe(200);
  await boards.store();
  expect(await seatsOf('debtor')).toEqual([{ seated: true }]);
  expect(await differences()).toEqual([]);
});
