import { afterEach, describe, expect, test } from 'vitest';
import type { PersistStep } from '../../../src/engine/persist/persister.ts';
import { rebuildServers } from '../../../src/engine/availability/accept.ts';
import { readCursor } from '../../../src/postgres/shards.ts';
import { readOutbox } from '../../../src/redis/outbox.ts';
import { toBatch } from '../../../src/engine/persist/batch.ts';
import { writeBatch } from '../../../src/engine/persist/batch-transaction.ts';
import { FIRST_EVENT, Reported } from './messages.ts';
import { opened } from '../../stack/opened.ts';

const reported = opened(() => Reported.start());
afterEach(() => reported.clean());

const DAY_MS = 86_400_000;

describe('recipients', () => {
  test('an event makes one message for each webhook and each thing that happened, in the order of what happened', async () => {
    const one = await reported.webhook();
    const other = await reported.webhook({ events: ['achievement.completed', 'leaderboard.rank_changed'] });
    await reported.event('ana', 12);
    expect(await reported.persist()).toBe(1);
    const of = async (webhook: string): Promise<string[]> => reported.types(`webhook_id = '${webhook}'`);
    expect(await of(one)).toEqual(FIRST_EVENT);
    expect(await of(other)).toEqual(['achievement.completed', 'leaderboard.rank_changed']);
    const messages = await reported.messages();
    expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length);
    for (const { user, payload } of messages) {
      expect(user).toBe('ana');
      expect(payload['user']).toMatchObject({ id: 'ana', control: false });
    }
    const [rank] = await reported.messages("type = 'leaderboard.rank_changed'");
    expect(rank?.payload['leaderboard']).toMatchObject({ rank: 1, value: 12, previousRank: null, previousValue: null });
  });

  test('a webhook gets everything that is stored after its creation, though the persister had read the catalog before', async () => {
    await reported.event('ana', 1);
    await reported.persist();
    const webhook = await reported.webhook();
    await reported.event('bob', 1);
    await reported.persist();
    expect(await reported.types()).toEqual(FIRST_EVENT);
    await reported.laurel.admin.patch('/v1/webhooks', [{ id: webhook, events: ['achievement.completed'] }]);
    await reported.event('cyd', 1);
    await reported.persist();
    expect(await reported.types("user_id = 'cyd'")).toEqual(['achievement.completed']);
    await reported.laurel.admin.patch('/v1/webhooks', [{ id: webhook, enabled: false }]);
    await reported.event('dan', 1);
    await reported.persist();
    expect(await reported.types("user_id = 'dan'")).toEqual([]);
  });

  test('does not store a report that was made before an edit, though another shard has read the catalog since', async () => {
    await reported.event('ana', 1);
    const { redis, pool } = reported.laurel;
    const after = await readCursor(pool, 0);
    const batch = toBatch(await readOutbox(redis, { shard: 0, after, count: 10 }));
    const { reporter } = reported;
    await reporter.refresh();
    const report = (await reporter.prepare(0, batch.entries)).reportOf(batch.entries);
    await reported.webhook();
    await reporter.refresh();
    const write = { redis, shard: 0, after, storageEpoch: undefined, batch };
    expect(await writeBatch(pool, { ...write, reported: { reporter, report, isFinal: false } })).toBe('outdated');
    expect(await reported.persist()).toBe(1);
    expect(await reported.types()).toEqual(FIRST_EVENT);
  });

  test('a filter by a points system or leaderboard drops messages about others', async () => {
    const filter = {
      pointsSystemIds: [await reported.idOf('points', 'coins')],
      leaderboardIds: [await reported.idOf('leaderboards', 'other')],
      metricIds: [await reported.idOf('metrics', 'minutes')],
    };
    await reported.webhook({ filter });
    await reported.event('ana', 1);
    await reported.persist();
    expect(await reported.types()).toEqual(['streak.started']);
  });

  test('without listeners nothing is made, and no catalog is read', async () => {
    await reported.webhook({ enabled: false });
    await reported.event('ana', 1);
    await reported.persist();
    expect(await reported.types()).toEqual([]);
  });
});

describe('exactly once', () => {
  const steps: PersistStep[] = ['read', 'written', 'committed', 'trimmed'];
  test.each(steps)('a persister that ends after the step `%s` leaves each message once', async (at) => {
    await reported.webhook();
    await reported.event('ana', 1);
    await reported.event('bob', 2);
    const broken = reported.persist((step) => {
      if (step === at) throw new Error('ended here');
    });
    await expect(broken).rejects.toThrow('ended here');
    await reported.persist();
    expect(await reported.types("user_id = 'ana'")).toEqual(FIRST_EVENT);
    expect(await reported.types("user_id = 'bob'")).toEqual(FIRST_EVENT);
    expect(await reported.types('user_id IS NULL')).toEqual([]);
  });

  test('reports what a rebuild of Redis stores', async () => {
    await reported.webhook();
    await reported.event('ana', 1);
    await rebuildServers({ redis: reported.laurel.redis, pool: reported.pool });
    await reported.persist();
    expect(await reported.types()).toEqual(FIRST_EVENT);
    // Answers 503 until the frontend accepts the rebuilt Redis.
    await expect.poll(async () => (await reported.event('bob', 1)).status, { interval: 50 }).toBe(201);
  });

  test('a replay makes no message', async () => {
    await reported.webhook();
    for (const status of [201, 202]) expect((await reported.event('ana', 1, 'k')).status).toBe(status);
    await reported.persist();
    expect(await reported.types()).toEqual(FIRST_EVENT);
  });
});

describe('other things that happen', () => {
  test('reports completions by call and resets by an administrator, but not a restored streak', async () => {
    await reported.webhook();
    await reported.event('ana', 1);
    await reported.laurel.app.post('/v1/achievements/tour/complete', { user: { id: 'ana' } });
    await reported.laurel.admin.post('/v1/streaks/reset', { users: [{ id: 'ana' }] });
    await reported.persist();
    await reported.laurel.admin.post('/v1/streaks/restore', { users: [{ id: 'ana' }] });
    await reported.persist();
    expect(await reported.types()).toEqual([...FIRST_EVENT, 'achievement.completed', 'streak.lost']);
    const [lost] = await reported.messages("type = 'streak.lost'");
    expect(lost?.payload).toMatchObject({ length: 1 });
  });

  test('reports the streak that an event finds lost before the one that it starts', async () => {
    await reported.webhook({ events: ['streak.lost', 'streak.started', 'streak.extended'] });
    await reported.event('ana', 1);
    reported.clock.set(reported.clock.now() + DAY_MS);
    await reported.event('ana', 1);
    reported.clock.set(reported.clock.now() + 3 * DAY_MS);
    await reported.event('ana', 1);
    await reported.persist();
    const messages = (await reported.messages()).map(({ type, payload }) => [type, payload['length']]);
    expect(messages).toEqual([
      ['streak.started', undefined],
      ['streak.extended', undefined],
      ['streak.lost', 2],
      ['streak.started', undefined],
    ]);
  });

  test("users of one batch each get their messages, with the user's data after the entry", async () => {
    await reported.webhook({ events: ['achievement.completed'] });
    await Promise.all(Array.from({ length: 50 }, (_, n) => reported.event(`user-${n}`, 1)));
    await reported.persist();
    expect(new Set((await reported.messages()).map(({ user }) => user)).size).toBe(50);
  });

  test('records completions for which an e-mail is wanted until it is due', async () => {
    await reported.webhook({ events: ['emails.achievement_due'] });
    await reported.event('ana', 1);
    await reported.persist();
    expect(await reported.types()).toEqual([]);
    const { rows } = await reported.pool.query('SELECT user_id, due_ms FROM notification_completions');
    const due = new Date(reported.clock.now());
    expect(rows).toEqual([{ user_id: 'ana', due_ms: due.setUTCHours(17, 0, 0, 0) }]);
  });
});

describe('what cannot be reported', () => {
  test('is left out; the events and every other message are stored', async () => {
    await reported.webhook();
    await reported.pool.query("ALTER TABLE webhook_messages ADD CONSTRAINT odd CHECK (type <> 'points.changed')");
    try {
      await reported.event('ana', 1);
      await reported.event('bob', 1);
      expect(await reported.persist()).toBe(2);
    } finally {
      await reported.pool.query('ALTER TABLE webhook_messages DROP CONSTRAINT odd');
    }
    const others = FIRST_EVENT.filter((type) => type !== 'points.changed');
    expect(await reported.types("user_id = 'ana'")).toEqual(others);
    expect(await reported.types("user_id = 'bob'")).toEqual(others);
    expect(reported.leftOut).toHaveLength(2);
    const { rows } = await reported.pool.query('SELECT id FROM users ORDER BY id');
    expect(rows).toEqual([{ id: 'ana' }, { id: 'bob' }]);
  });

  test('a user who was deleted in the same batch gets no messages, the others get theirs', async () => {
    await reported.webhook();
    await reported.event('ana', 1);
    await reported.event('bob', 1);
    await reported.laurel.admin.delete('/v1/users?ids=ana');
    await reported.event('ana', 5);
    await reported.persist();
    expect(await reported.types("user_id = 'bob'")).toEqual(FIRST_EVENT);
    const again = await reported.messages("user_id = 'ana' AND type = 'leaderboard.rank_changed'");
    expect(again.map(({ payload }) => (payload['leaderboard'] as { value: number }).value)).toEqual([5]);
  });
});

test('deleting a user removes messages and pending reports; an export lists the messages', async () => {
  await reported.webhook();
  await reported.event('ana', 1);
  await reported.event('bob', 1);
  await reported.persist();
  await reported.event('ana', 1);
  await reported.persist();
  const { body } = await reported.laurel.admin.get('/v1/users/ana/export');
  const { webhookMessages } = body as { webhookMessages: { type: string; payload: string; status: string }[] };
  expect(webhookMessages.map(({ type }) => type)).toEqual(FIRST_EVENT);
  expect(JSON.parse(webhookMessages[0]!.payload)).toMatchObject({ user: { id: 'ana' } });
  const waiting = async (user: string): Promise<number> =>
    (await reported.pool.query('SELECT FROM notification_windows WHERE user_id = $1', [user])).rows.length;
  expect(await waiting('ana')).toBeGreaterThan(0);
  await reported.laurel.admin.delete('/v1/users?ids=ana');
  await reported.persist();
  expect([await reported.types("user_id = 'ana'"), await waiting('ana')]).toEqual([[], 0]);
  expect(await reported.types("user_id = 'bob'")).toEqual(FIRST_EVENT);
});
