import { beforeAll, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import type { NotificationType } from '../../../src/domain/notifications/notification.ts';
import { WEBHOOK_EVENTS } from '../../../src/domain/notifications/webhook.ts';
import { SHARDS } from '../../../src/redis/keys.ts';
import { startLaurel } from '../../laurel.ts';
import { Receiver } from '../webhooks/receiver.ts';
import { opened } from '../../stack/opened.ts';

// Postgres refuses the messages of one tenant: those of another tenant on the same shard are made in time.

const CONFIGURATION: Configuration = {
  metrics: [{ key: 'm', name: 'M' }],
  streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'm', threshold: 1 }] },
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [{ type: 'metric', metricKey: 'm', metricThreshold: 1, points: 1, status: 'active' }],
      boosts: [{ name: 'Weekend', start: '2030-01-07', multiplier: 2 }],
    },
  ],
  leaderboards: [
    {
      key: 'daily',
      name: 'Daily',
      rankBy: 'metric',
      metricKey: 'm',
      start: '2030-01-01',
      runUnit: 'day',
      runInterval: 1,
      status: 'active',
    },
  ],
};
/** Both are on one shard. */
const BROKEN = 1;
const WELL = BROKEN + SHARDS;
const BY_THE_CLOCK: NotificationType[] = [
  'points.boost_started',
  'leaderboard.started',
  'leaderboard.finished',
  'emails.streak_reminder_due',
  'emails.reactivation_due',
  'emails.recap_due',
];

const receiver = opened(() => Receiver.start());
const laurel = opened(async () => {
  const worker = { delivery: { allowPrivate: true } };
  return startLaurel({
    testClock: true,
    clockPatienceMs: 10_000,
    workers: true,
    webhookAllowPrivate: true,
    worker,
  });
});
beforeAll(async () => {
  await clockReached('2030-01-05T10:30:00Z');
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  const customers = Array.from({ length: WELL }, (_, n) => `tenant ${n + 1}`);
  // The maximum of a request.
  for (let at = 0; at < customers.length; at += 100) {
    const created = customers.slice(at, at + 100).map((customerId) => ({ customerId, name: customerId }));
    await laurel.admin.post('/v1/tenants', created);
  }
  for (const no of [BROKEN, WELL]) {
    const tenantId = `tenant ${no}`;
    const configured = await laurel.admin.put('/v1/configuration', CONFIGURATION, { tenantId });
    const webhook = { name: 'All', url: receiver.url, events: [...WEBHOOK_EVENTS] };
    const made = await laurel.admin.post('/v1/webhooks', [webhook], { tenantId });
    if (configured.status !== 200 || made.status !== 201) throw new Error('The tenant could not be set up.');
  }
  await clockReached('2030-01-05T10:31:00Z');
  await laurel.pool.query(`
    CREATE FUNCTION refuse_messages() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'refused for the test' USING ERRCODE = 'check_violation'; END $$;
    CREATE TRIGGER refused BEFORE INSERT ON webhook_messages FOR EACH ROW
      WHEN (NEW.tenant_no = ${BROKEN}) EXECUTE FUNCTION refuse_messages()`);
});

const clock = (now: string) => laurel.admin.put('/v1/clock', { now });
/** Sets the clock again until all is done by then: on a busy machine a worker takes longer to start than a call waits. */
async function clockReached(now: string): Promise<void> {
  while ((await clock(now)).status === 503);
}
const typesOf = async (tenantNo: number): Promise<NotificationType[]> => {
  const { rows } = await laurel.pool.query<{ type: NotificationType }>(
    'SELECT DISTINCT type FROM webhook_messages WHERE tenant_no = $1 ORDER BY type',
    [tenantNo],
  );
  return rows.map(({ type }) => type);
};

test('failing messages of one tenant delay no other tenant, and are made when they can be', async () => {
  for (const no of [BROKEN, WELL]) {
    const sent = { user: { id: 'ada', email: 'ada@example.org', subscribeToEmails: true }, value: 5 };
    expect((await laurel.app.post('/v1/metrics/m/event', sent, { tenantId: `tenant ${no}` })).status).toBe(201);
  }
  await expect.poll(() => typesOf(WELL)).toContain('points.changed');
  // Its work cannot be done: the clock waits for it, in vain.
  expect((await clock('2030-01-08T10:30:00Z')).status).toBe(503);
  await expect.poll(() => typesOf(WELL)).toEqual(expect.arrayContaining(BY_THE_CLOCK));
  expect(await typesOf(BROKEN)).toEqual([]);
  // What happened is stored anyway.
  const { rows } = await laurel.pool.query('SELECT count(*)::int AS n FROM events WHERE tenant_no = $1', [BROKEN]);
  expect(rows[0].n).toBe(1);
  await laurel.pool.query('DROP TRIGGER refused ON webhook_messages');
  // By then the streak is lost, and nobody gets a reminder of it.
  const stillDue = BY_THE_CLOCK.filter((type) => type !== 'emails.streak_reminder_due');
  await expect.poll(() => typesOf(BROKEN)).toEqual(expect.arrayContaining(stillDue));
  expect(await typesOf(BROKEN)).not.toContain('emails.streak_reminder_due');
});
