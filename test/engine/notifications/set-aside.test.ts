import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { Catalogs } from '../../../src/catalog/catalogs.ts';
import { FixedClock } from '../../../src/clock.ts';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { createAnnouncements } from '../../../src/engine/notifications/due/announcements.ts';
import { createEmailRounds } from '../../../src/engine/notifications/due/email-rounds.ts';
import { createPersonalBoosts } from '../../../src/engine/notifications/due/personal-boosts.ts';
import { createBoardRankings } from '../../../src/engine/notifications/due/board-rankings.ts';
import { Publisher } from '../../../src/engine/notifications/due/publisher.ts';
import { startLaurel } from '../../laurel.ts';
import { opened } from '../../stack/opened.ts';

const CONFIGURATION: Configuration = {
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      boosts: [
        { name: 'Weekend', start: '2030-01-07', multiplier: 2 },
        { name: 'Next', start: '2030-02-07', multiplier: 2 },
      ],
    },
  ],
};
const START = Date.parse('2030-01-05T10:30:00Z');
const BROKEN = 1;
const SLOW = 2;
/** Longer than a piece of work is set aside after its first failure (ms). */
const SLOW_MS = 500;

let catalogs: Catalogs;
const laurel = opened(() => startLaurel({ clock: new FixedClock(START), webhookAllowPrivate: true }));
beforeAll(async () => {
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  const created = [BROKEN, SLOW].map((no) => ({ customerId: `tenant ${no}`, name: `tenant ${no}` }));
  await laurel.admin.post('/v1/tenants', created);
  for (const { customerId: tenantId } of created) {
    await laurel.admin.put('/v1/configuration', CONFIGURATION, { tenantId });
    const webhook = { name: 'All', url: 'http://127.0.0.1:9', events: ['points.boost_started'] };
    const made = await laurel.admin.post('/v1/webhooks', [webhook], { tenantId });
    if (made.status !== 201) throw new Error('The tenant could not be set up.');
  }
  await laurel.pool.query(`
    CREATE FUNCTION refuse_messages() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'refused for the test' USING ERRCODE = 'check_violation'; END $$;
    CREATE TRIGGER refused BEFORE INSERT ON webhook_messages FOR EACH ROW
      WHEN (NEW.tenant_no = ${BROKEN}) EXECUTE FUNCTION refuse_messages()`);
  catalogs = new Catalogs(laurel.pool);
});
afterAll(async () => {
  catalogs.close();
});

test('a failed announcement is made, even if it may be tried again while other tenants are searched', async () => {
  const { redis, pool } = laurel;
  // The time by which work is set aside passes only while the slow tenant is searched.
  let atMs = 0;
  const time = vi.spyOn(performance, 'now').mockImplementation(() => atMs);
  onTestFinished(() => time.mockRestore());
  let slowMs = 0;
  const slowly = {
    of: (tenantNo: number) => catalogs.of(tenantNo),
    atLeast: async (tenantNo: number, version: number) => {
      if (tenantNo === SLOW) atMs += slowMs;
      return catalogs.atLeast(tenantNo, version);
    },
  };
  const publisher = new Publisher({ redis, pool, catalogs: slowly });
  const failures: unknown[] = [];
  const onFailed = ({ error }: { error: unknown }): void => void failures.push(error);
  const work = createAnnouncements({ publisher, redis, rankings: createBoardRankings(redis), onFailed });
  const pass = async (nowMs: number): Promise<void> => {
    const dueMs = await work.due(nowMs);
    if (dueMs !== null) await work.perform(dueMs, new AbortController().signal, dueMs + 1, nowMs);
  };
  const tenants = async (): Promise<number[]> => {
    const { rows } = await pool.query<{ no: number }>('SELECT tenant_no AS no FROM webhook_messages ORDER BY 1');
    return rows.map(({ no }) => no);
  };
  await pass(START);
  const later = Date.parse('2030-01-06T12:30:00Z');

  await pass(later);
  expect(failures).toHaveLength(1);
  expect(await tenants()).toEqual([SLOW]);
  slowMs = SLOW_MS;
  // The broken tenant is set aside when it would be searched, and no longer when this ends.
  expect(await work.due(later)).toBeNull();
  await pool.query('DROP TRIGGER refused ON webhook_messages');
  slowMs = 0;
  await pass(later);
  expect(await tenants()).toEqual([BROKEN, SLOW]);
});

test('a catalog that cannot be compiled stops its tenant only, which misses nothing', async () => {
  const { redis, pool } = laurel;
  let isDamaged = true;
  const damaged = {
    of: (tenantNo: number) => {
      if (tenantNo === BROKEN && isDamaged) throw new TypeError('damaged for the test');
      return catalogs.of(tenantNo);
    },
    atLeast: (tenantNo: number, version: number) => catalogs.atLeast(tenantNo, version),
  };
  const failures: unknown[] = [];
  const onFailed = ({ error }: { error: unknown }): void => void failures.push(error);
  const publisher = new Publisher({ redis, pool, catalogs: damaged, onFailed });
  const work = createAnnouncements({ publisher, redis, rankings: createBoardRankings(redis), onFailed });
  const rounds = createEmailRounds({ publisher, onFailed });
  const boosts = createPersonalBoosts(publisher, onFailed);
  const nowMs = Date.parse('2030-02-06T12:30:00Z');
  const made = async (): Promise<number[]> => {
    for (let dueMs = await work.due(nowMs); dueMs !== null; dueMs = await work.due(nowMs))
      await work.perform(dueMs, new AbortController().signal, dueMs + 1, nowMs);
    await rounds.due(nowMs);
    await boosts.due(nowMs);
    const { rows } = await pool.query<{ no: number }>(
      `SELECT tenant_no AS no FROM webhook_messages WHERE payload::text LIKE '%Next%' ORDER BY 1`,
    );
    return rows.map(({ no }) => no);
  };
  expect(await made()).toEqual([SLOW]);
  expect(failures.length).toBeGreaterThan(0);
  isDamaged = false;
  await expect.poll(made).toEqual([BROKEN, SLOW]);
});
