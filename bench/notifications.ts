/**
 * What notifications cost that the clock makes: windows of 15 minutes of N users (default 100,000), of whom each has one
 * change in each window, as a share of a core; then the reminders of as many streaks that end with the day.
 *
 *   npm run bench:notifications -- [users]
 *
 * Uses a Redis and a Postgres of its own.
 */
import { randomUUID } from 'node:crypto';
import { packState } from '../src/packed/pack-state.ts';
import type { PackedStreak } from '../src/packed/state.ts';
import { USER } from '../src/packed/user-fields.ts';
import type { Pool } from 'pg';
import { Catalogs } from '../src/catalog/catalogs.ts';
import type { NewMessage, Notification } from '../src/domain/notification.ts';
import { DAY_MS, periodOf, type Frequency } from '../src/domain/periods.ts';
import { BoardRankings } from '../src/engine/notifications/due/board-rankings.ts';
import { EmailRounds } from '../src/engine/notifications/due/emails/email-rounds.ts';
import { Publisher } from '../src/engine/notifications/due/publisher.ts';
import { Windows } from '../src/engine/notifications/due/windows.ts';
import { throttle } from '../src/engine/notifications/throttles.ts';
import type { ScheduledWork } from '../src/engine/schedule/due-work.ts';
import { upsertUsers } from '../src/postgres/persist/upsert-users.ts';
import { transaction } from '../src/postgres/transaction.ts';
import { insertMessages } from '../src/postgres/webhooks/insert-messages.ts';
import { childrenOf, processCpu, treeCpu } from './cpu.ts';
import { demoCatalog, temporaryServers } from './temporary-servers.ts';

const USERS = Number(process.argv[2] ?? 100_000);
const TENANT = 0;
/** Windows end at multiples of it. */
const STEP_MS = 5_000;
const WINDOW_MS = 900_000;
const STEPS = WINDOW_MS / STEP_MS;
const NEVER = new AbortController().signal;
const idOf = (n: number): string => `user-${n}`;

/** CPU seconds of this process and of Postgres. */
class Cpu {
  private readonly postgres = childrenOf(process.pid).find(({ command }) => command.includes('postgres'))!.pid;

  now(): { own: number; postgres: number } {
    return { own: processCpu(process.pid), postgres: treeCpu(this.postgres) };
  }

  async of(work: () => Promise<void>): Promise<{ own: number; postgres: number }> {
    const before = this.now();
    await work();
    const after = this.now();
    return { own: after.own - before.own, postgres: after.postgres - before.postgres };
  }
}

async function addWebhook(pool: Pool): Promise<string> {
  const id = randomUUID();
  const events = ['points.changed', 'emails.streak_reminder_due'];
  const doc = { name: 'Bench', url: 'https://example.com/', events, enabled: true, secretNo: 1 };
  await pool.query(
    `INSERT INTO catalog_resources (id, tenant_no, no, kind, doc, created, updated)
     VALUES ($1, $2, 1000000, 'webhook', $3, now() - interval '2 days', now() - interval '2 days')`,
    [id, TENANT, doc],
  );
  await pool.query('INSERT INTO outbox_cursors (shard, stream_id) VALUES (0, $1) ON CONFLICT DO NOTHING', ['0-0']);
  return id;
}

async function windows(
  pool: Pool,
  cpu: Cpu,
  { work, systemId, hook }: { work: Windows; systemId: string; hook: string },
) {
  const startMs = Math.ceil(Date.now() / STEP_MS) * STEP_MS;
  const change = (n: number, round: number): Notification => ({
    type: 'points.changed',
    tenantNo: TENANT,
    userId: idOf(n),
    atMs: startMs,
    source: `${n}:${round}`,
    about: { pointsSystemId: systemId },
    payload: payloadOf(n, round),
  });
  let held = { own: 0, postgres: 0 };
  let flushed = { own: 0, postgres: 0 };
  const add = (sum: typeof held, more: typeof held) => ({
    own: sum.own + more.own,
    postgres: sum.postgres + more.postgres,
  });
  const usersAt = (step: number): number[] => {
    const place = ((step % STEPS) + STEPS) % STEPS;
    const from = Math.floor((USERS * place) / STEPS);
    return Array.from({ length: Math.floor((USERS * (place + 1)) / STEPS) - from }, (_, index) => from + index);
  };
  const count = async (): Promise<number> =>
    (await pool.query<{ n: number }>('SELECT count(*)::int AS n FROM webhook_messages')).rows[0]!.n;
  let before = 0;
  // Each user's window begins in the first round; from then on a change comes in the middle of each.
  for (let step = 0; step < 3 * STEPS; step += 1) {
    const nowMs = startMs + step * STEP_MS;
    const isMeasured = step >= 2 * STEPS;
    if (step === 2 * STEPS) before = await count();
    const users = [...(step < STEPS ? usersAt(step) : []), ...(step >= STEPS / 2 ? usersAt(step - STEPS / 2) : [])];
    const changes = users.map((n) => change(n, step));
    const ended = await cpu.of(() => until(work, nowMs));
    const entered = await cpu.of(async () => {
      await transaction(pool, (client) => throttle(client, changes, nowMs));
    });
    if (isMeasured) [held, flushed] = [add(held, entered), add(flushed, ended)];
  }
  const sent = (await count()) - before;
  const messages = Array.from({ length: sent }, (_, n): NewMessage => {
    const id = randomUUID();
    return {
      id,
      webhookId: hook,
      tenantNo: TENANT,
      type: 'points.changed',
      userId: idOf(n),
      atMs: startMs,
      payload: payloadOf(n, 0),
    };
  });
  const inserted = await cpu.of(async () => {
    for (let from = 0; from < messages.length; from += 500)
      await transaction(pool, (client) => insertMessages(client, messages.slice(from, from + 500), startMs));
  });
  const share = ({ own, postgres }: typeof held): string =>
    `${(((own + postgres) * 1e5) / WINDOW_MS).toFixed(2)} % of a core (${((own * 1e6) / USERS).toFixed(0)} + ${((postgres * 1e6) / USERS).toFixed(0)} µs a user, Laurel + Postgres)`;
  console.log(
    `${USERS.toLocaleString('en')} users, a change each in 15 minutes (${sent} messages):\n` +
      `  to hold them back   ${share(held)}\n` +
      `  to flush windows    ${share(flushed)}\n` +
      `  of that, messages   ${share(inserted)}`,
  );
}

const payloadOf = (n: number, total: number): string =>
  JSON.stringify({
    type: 'points.changed',
    user: { id: idOf(n), email: `${idOf(n)}@example.com`, name: 'A Name', tz: null, attributes: { plan: 'free' } },
    points: {
      id: '1',
      key: 'xp',
      name: 'XP',
      total,
      added: 10,
      awards: [
        {
          id: randomUUID(),
          awarded: 10,
          date: new Date().toISOString(),
          total,
          trigger: { id: '2', type: 'metric', points: 10, metricName: 'Flips', metricThreshold: 5 },
        },
      ],
    },
  });

async function until(work: ScheduledWork, nowMs: number): Promise<void> {
  for (;;) {
    const dueMs = await work.due(nowMs);
    if (dueMs === null) return;
    await work.perform(dueMs, NEVER, nowMs + 1, nowMs);
  }
}

async function reminders(pool: Pool, cpu: Cpu, rounds: EmailRounds): Promise<void> {
  const today = Math.floor(Date.now() / DAY_MS);
  for (let from = 0; from < USERS; from += 5_000) {
    const users = Array.from({ length: Math.min(5_000, USERS - from) }, (_, index) => {
      const id = idOf(from + index);
      return { tenantNo: TENANT, id, packed: stateOf(id, today - 1) };
    });
    await transaction(pool, (client) => upsertUsers(client, users));
  }
  await pool.query('VACUUM ANALYZE users');
  const nowMs = today * DAY_MS + 20 * 3_600_000;
  // Zones are followed from the webhook on.
  await rounds.due(nowMs - DAY_MS);
  await pool.query('UPDATE notification_progress SET done_ms = $1', [nowMs - 1]);
  const startMs = performance.now();
  const { own, postgres } = await cpu.of(() => until(rounds, nowMs));
  const { rows } = await pool.query<{ n: number }>(
    "SELECT count(*)::int AS n FROM webhook_messages WHERE type = 'emails.streak_reminder_due'",
  );
  console.log(
    `${rows[0]!.n.toLocaleString('en')} reminders in ${((performance.now() - startMs) / 1000).toFixed(1)} s; ` +
      `CPU each: Laurel ${((own * 1e6) / USERS).toFixed(0)} µs, Postgres ${((postgres * 1e6) / USERS).toFixed(0)} µs`,
  );
}

/** A user with a streak of three days that was extended last on a day (epoch day). */
function stateOf(id: string, lastDay: number): Buffer {
  const streak = (frequency: Frequency): PackedStreak => {
    const last = periodOf(lastDay, frequency, 'monday');
    return [3, lastDay - 2, last, lastDay * DAY_MS, last];
  };
  return packState({
    [USER.createdMs]: (lastDay - 40) * DAY_MS,
    [USER.updatedMs]: lastDay * DAY_MS,
    [USER.name]: `Name of ${id}`,
    [USER.email]: `${id}@example.com`,
    [USER.totals]: { 1: [120, 0] },
    [USER.points]: { 2: 40 },
    [USER.streaks]: [streak('daily'), streak('weekly'), streak('monthly')],
  });
}

const servers = await temporaryServers({ durable: false });
try {
  const { pool, redis } = servers;
  const catalog = await demoCatalog(pool);
  const hook = await addWebhook(pool);
  const cpu = new Cpu();
  const publisher = new Publisher({ pool, catalogs: new Catalogs({ pool }) });
  const work = new Windows({ publisher, rankings: new BoardRankings(redis) });
  await windows(pool, cpu, { work, systemId: catalog.pointsSystems[0]!.id, hook });
  await reminders(pool, cpu, new EmailRounds({ publisher }));
} finally {
  await servers.close();
}
