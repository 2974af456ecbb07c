import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { LiveClient } from '../../live/live-client.ts';
import { Listening } from './listening.ts';

const CONFIGURATION: Configuration = {
  metrics: [{ key: 'flips', name: 'Flips' }],
  achievements: [
    { key: 'one', name: 'One', trigger: 'metric', metricKey: 'flips', metricValue: 1, status: 'active' },
    { key: 'old', name: 'Old', trigger: 'metric', metricKey: 'flips', metricValue: 1, status: 'inactive' },
  ],
  streaks: { enabled: true, frequency: 'daily' },
};
const DAY = '2030-03-01';

let listening: Listening;
beforeEach(async () => {
  listening = await Listening.start(`${DAY}T09:00`, CONFIGURATION);
});
afterEach(() => listening.close());

const event = async (id: string, user: object = { email: `${id}@example.com` }): Promise<void> => {
  const { status } = await listening.laurel.app.post('/v1/metrics/flips/event', { user: { id, ...user }, value: 1 });
  if (status !== 201) throw new Error('An event was refused.');
};
const settings = async (path: string, changes: object): Promise<void> => {
  const { status, body } = await listening.laurel.admin.patch(path, changes);
  if (status !== 200) throw new Error(JSON.stringify(body));
};
const summary = async (): Promise<string[]> => {
  const messages = await listening.messages();
  return messages.map(({ at, type, user }) => `${at} ${type.replace('emails.', '')} ${user}`);
};

describe('sends no e-mail to a user who', () => {
  const all = async (): Promise<void> => {
    await listening.listen(
      'emails.achievement_due',
      'emails.recap_due',
      'emails.reactivation_due',
      'emails.streak_reminder_due',
    );
  };

  test('has no address, wants none of the kind, or wants none at all', async () => {
    await all();
    await event('ada');
    await event('without address', {});
    await event('unsubscribed', { email: 'u@example.com' });
    await listening.laurel.app.patch('/v1/users/unsubscribed', { subscribeToEmails: false });
    await event('push');
    const push = ['push'];
    await listening.laurel.app.patch('/v1/users/push/preferences', {
      notifications: { achievement_completed: push, recap: push, reactivation: push, streak_reminder: push },
    });
    await event('reminded');
    await listening.laurel.app.patch('/v1/users/reminded/preferences', {
      notifications: { achievement_completed: [], recap: [], reactivation: [], streak_reminder: ['email'] },
    });
    await listening.to('2030-03-04T12:00');
    expect(await summary()).toEqual([
      '2030-03-01T17:00 achievement_due ada',
      '2030-03-02T20:00 streak_reminder_due ada',
      '2030-03-02T20:00 streak_reminder_due reminded',
      '2030-03-04T09:00 recap_due ada',
      '2030-03-04T10:00 reactivation_due ada',
    ]);
  });

  test('belongs to the control group', async () => {
    await all();
    await settings('/v1/organisation', { controlShare: 1 });
    await event('ada');
    await listening.to('2030-03-04T12:00');
    expect(await summary()).toEqual([]);
  });
});

describe('reminders', () => {
  beforeEach(async () => {
    await listening.listen('emails.streak_reminder_due');
  });

  test('are sent only for streaks that would end', async () => {
    for (const id of ['ada', 'paused', 'off', 'met', 'own-days']) await event(id);
    await settings('/v1/streaks/settings', { personalization: true });
    await listening.laurel.app.patch('/v1/users/off/preferences', { streak: { enabled: false } });
    await listening.laurel.app.patch('/v1/users/own-days/preferences', { streak: { daysOff: [6] } });
    const { body } = await listening.laurel.admin.post('/v1/streaks/pauses', {
      pauses: [{ userId: 'paused', start: '2030-03-02', end: '2030-03-02' }],
    });
    expect(body.issues).toEqual([]);
    await listening.to('2030-03-02T19:00');
    await event('met');
    await listening.to('2030-03-03T19:00');
    expect(await summary()).toEqual(['2030-03-02T20:00 streak_reminder_due ada']);
    await listening.to('2030-03-04T19:00');
    expect((await summary()).slice(1).toSorted()).toEqual([
      '2030-03-03T20:00 streak_reminder_due met',
      '2030-03-03T20:00 streak_reminder_due own-days',
      '2030-03-03T20:00 streak_reminder_due paused',
    ]);
  });

  test('are not sent while a freeze is left to keep the streak: the next day has none', async () => {
    await settings('/v1/streaks/settings', { freezes: { enabled: true, initial: 1, max: 1 } });
    await event('ada');
    await listening.to('2030-03-05T12:00');
    expect(await summary()).toEqual(['2030-03-03T20:00 streak_reminder_due ada']);
  });

  test('come on Friday for weeks, on the 25th for months', async () => {
    await settings('/v1/streaks/settings', { frequency: 'weekly' });
    await event('ada');
    await listening.to('2030-03-20T12:00');
    // It ended with the week without an event.
    expect(await summary()).toEqual(['2030-03-08T09:00 streak_reminder_due ada']);
    await settings('/v1/streaks/settings', { frequency: 'monthly' });
    await event('bob', { email: 'bob@example.com', tz: 'Asia/Tokyo' });
    await listening.to('2030-05-10T12:00');
    // The log of March is dropped by then.
    expect(await summary()).toEqual([
      '2030-04-25T00:00 streak_reminder_due bob',
      '2030-04-25T09:00 streak_reminder_due ada',
    ]);
  });

  test('a user who moves gets exactly one', async () => {
    for (const id of ['east', 'west', 'far']) await event(id);
    await listening.to('2030-03-02T19:30');
    // It is 21:30 there.
    await listening.laurel.app.patch('/v1/users/east', { tz: 'Europe/Helsinki' });
    await listening.stored();
    await listening.to('2030-03-02T19:31');
    expect((await summary()).map((line) => line.slice(17))).toEqual(['streak_reminder_due east']);
    await listening.to('2030-03-02T21:00');
    // It is 16:00 there.
    await listening.laurel.app.patch('/v1/users/west', { tz: 'America/New_York' });
    await listening.stored();
    await listening.to('2030-03-03T03:00');
    expect((await summary()).map((line) => line.slice(17)).toSorted()).toEqual([
      'streak_reminder_due east',
      'streak_reminder_due far',
      'streak_reminder_due west',
    ]);
  });

  test('are paged', async () => {
    const users = Array.from({ length: 1_200 }, (_, n) => `user ${n}`);
    for (const from of [0, 600]) {
      const events = users
        .slice(from, from + 600)
        .map((id) => ({ key: 'flips', user: { id, email: 'a@example.com' }, value: 1 }));
      expect((await listening.laurel.admin.post('/v1/metrics/events', events)).status).toBe(202);
    }
    await listening.to('2030-03-02T21:00');
    const messages = await listening.messages();
    expect(messages).toHaveLength(users.length);
    expect(new Set(messages.map(({ user }) => user))).toEqual(new Set(users));
  });
});

test('users who never did anything count from when they were first seen', async () => {
  await listening.listen('emails.reactivation_due');
  await listening.laurel.app.put('/v1/users/ada', { email: 'ada@example.com' });
  await listening.to('2030-03-31T12:00');
  const messages = await listening.messages();
  expect(messages.map(({ at, payload }) => [at, payload.reactivation])).toEqual(
    [3, 5, 7, 14, 30].map((days, index) => [
      `2030-03-${String(1 + days).padStart(2, '0')}T10:00`,
      { messageNumber: index + 1, daysSinceLastActive: days },
    ]),
  );
});

test('recaps of months, by the setting; in the zone of the user', async () => {
  await settings('/v1/settings', { aggregationPeriod: 'monthly' });
  await listening.listen('emails.recap_due');
  await event('ada', { email: 'ada@example.com', tz: 'America/New_York' });
  await listening.to('2030-05-02T00:00');
  expect((await listening.messages()).map(({ at, payload }) => [at, payload.recap])).toEqual([
    ['2030-04-01T13:00', { periodStart: '2030-03-01', periodEnd: '2030-03-31' }],
  ]);
});

test('achievements: excludes backdated ones', async () => {
  await listening.listen('emails.achievement_due');
  await event('ada');
  await settings('/v1/achievements', [{ id: await achievementId('old'), status: 'active' }] as unknown as object);
  await listening.to('2030-03-03T00:00');
  expect((await listening.messages()).map(({ payload }) => payload.achievement.key)).toEqual(['one']);
});

const achievementId = async (key: string): Promise<string> =>
  (await listening.laurel.admin.get('/v1/achievements')).body.find((each: { key: string }) => each.key === key).id;

test('sends nothing that was due before a webhook wanted it', async () => {
  await event('ada');
  await listening.to('2030-03-02T21:00');
  await listening.listen('emails.streak_reminder_due', 'emails.reactivation_due');
  await listening.to('2030-03-04T09:00');
  expect(await summary()).toEqual([]);
  await listening.to('2030-03-04T11:00');
  expect(await summary()).toEqual(['2030-03-04T10:00 reactivation_due ada']);
});

const ALL = ['achievement_due', 'streak_reminder_due', 'recap_due', 'reactivation_due'];
const stream = async (asked: object, key?: string): Promise<LiveClient> => {
  const { app, appUrl } = listening.laurel;
  const { body } = await app.post('/v1/live/tickets', asked, key === undefined ? {} : { key });
  const client = await LiveClient.open(appUrl, { ticket: body.ticket as string });
  await client.next('ready');
  return client;
};
/** The e-mails that a stream reports as due. */
const heard = (client: LiveClient): string[] =>
  client.messages.flatMap(({ type, user }) => (type.startsWith('emails.') ? `${type.slice(7)} ${user.id}` : []));

test('live streams get e-mails that no webhook wants: of their own user, or of all', async () => {
  const { laurel } = listening;
  const made = await laurel.admin.post('/v1/application-api-keys', [{ userId: 'ada' }]);
  const streams = [await stream({}), await stream({}, made.body.created[0].key as string)] as const;
  try {
    // The worker learns within some tenths of a second that somebody listens.
    let users = 0;
    const noted = async (): Promise<number> => {
      await event(`user ${++users}`, {});
      await listening.stored();
      return (await laurel.pool.query('SELECT FROM notification_completions')).rows.length;
    };
    await expect.poll(noted, { interval: 100 }).toBeGreaterThan(0);
    await event('ada');
    await event('bob');
    await listening.stored();
    await listening.to(`${DAY}T09:01`);
    await listening.to('2030-03-04T11:00');
    await expect.poll(() => heard(streams[0])).toEqual(ALL.flatMap((type) => [`${type} ada`, `${type} bob`]));
    await expect.poll(() => heard(streams[1])).toEqual(ALL.map((type) => `${type} ada`));
  } finally {
    for (const client of streams) client.close();
  }
  expect(await summary()).toEqual([]);
});

test('if only single users have listeners, no e-mails of others are computed', async () => {
  const { laurel } = listening;
  const usersIn = async (table: string): Promise<string[]> =>
    (await laurel.pool.query<{ id: string }>(`SELECT DISTINCT user_id AS id FROM ${table}`)).rows.map(({ id }) => id);
  const made = await laurel.admin.post('/v1/application-api-keys', [{ userId: 'ada' }]);
  const ofAda = await stream({}, made.body.created[0].key as string);
  // The worker learns within half a second who listens: one of these shows it.
  const others = Array.from({ length: 20 }, (_, n) => `other ${n}`);
  const streams = [ofAda, ...(await Promise.all(others.map((userId) => stream({ userId }))))];
  try {
    let sent = 0;
    const noted = async (): Promise<number> => {
      await event(others[sent++]!, {});
      await listening.stored();
      return (await usersIn('notification_completions')).length;
    };
    await expect.poll(noted, { interval: 100 }).toBeGreaterThan(0);
    await event('ada');
    await event('bob');
    await listening.stored();
    expect((await usersIn('notification_completions')).filter((id) => !others.includes(id))).toEqual(['ada']);
    await listening.to(`${DAY}T09:01`);
    await listening.to('2030-03-04T11:00');
    await expect.poll(() => heard(ofAda)).toEqual(ALL.map((type) => `${type} ada`));
    expect(await usersIn('notification_emails')).toEqual(['ada']);
  } finally {
    for (const client of streams) client.close();
  }
});
