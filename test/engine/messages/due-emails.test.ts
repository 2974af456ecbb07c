import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { Listening } from '../notifications/listening.ts';
import { emailRows, setChannel, TEMPLATES } from './channel.ts';

const CONFIGURATION: Configuration = {
  metrics: [{ key: 'flips', name: 'Flips' }],
  achievements: [{ key: 'one', name: 'One', trigger: 'metric', metricKey: 'flips', metricValue: 1, status: 'active' }],
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
const configure = async (messages: Configuration['messages']): Promise<void> => {
  const { status, body } = await listening.laurel.admin.put('/v1/configuration', { messages });
  if (status !== 200) throw new Error(JSON.stringify(body));
};
const channel = (enabled = true): Promise<void> =>
  setChannel(listening.laurel.pool, { enabled, nowMs: Date.parse(`${DAY}T09:00Z`) });
const emails = async (): Promise<string[]> =>
  (await emailRows(listening.laurel.pool)).map(({ at, kind, user }) => `${at} ${kind} ${user}`);

describe('a tenant with a channel and templates', () => {
  beforeEach(async () => {
    await channel();
    await configure({ templates: TEMPLATES });
  });

  test('gets one e-mail of each kind that is due, with the payload of the webhooks and without a webhook', async () => {
    await event('ada');
    await event('without address', {});
    await listening.to('2030-03-04T12:00');
    expect(await emails()).toEqual([
      '2030-03-01T17:00 achievement_completed ada',
      '2030-03-02T20:00 streak_reminder ada',
      '2030-03-04T09:00 recap ada',
      '2030-03-04T10:00 reactivation ada',
    ]);
    expect(await listening.messages()).toEqual([]);
    const { rows } = await listening.laurel.pool.query(
      "SELECT payload::json -> 'user' ->> 'email' AS email, payload::json ->> 'type' AS type FROM email_messages WHERE kind = 'recap'",
    );
    // A worker that sends e-mails removes the payload once it is sent or dropped.
    for (const row of rows.filter(({ type }) => type !== null))
      expect(row).toEqual({ email: 'ada@example.com', type: 'emails.recap_due' });
  });

  test('gets the same as its webhook, each once', async () => {
    await listening.listen('emails.achievement_due', 'emails.streak_reminder_due', 'emails.recap_due');
    await event('ada');
    await listening.to('2030-03-04T12:00');
    const messages = (await listening.messages()).map(({ at, type, user }) => `${at} ${type} ${user}`);
    expect(messages).toEqual([
      '2030-03-01T17:00 emails.achievement_due ada',
      '2030-03-02T20:00 emails.streak_reminder_due ada',
      '2030-03-04T09:00 emails.recap_due ada',
    ]);
    expect(await emails()).toHaveLength(4);
  });

  test('gets no more when the channel is disabled, and none for what fell due meanwhile', async () => {
    await event('ada');
    await listening.to(`${DAY}T12:00`);
    await channel(false);
    await listening.to('2030-03-03T12:00');
    expect(await emails()).toEqual([]);
    await setChannel(listening.laurel.pool, { nowMs: Date.parse('2030-03-03T12:00Z') });
    await listening.to('2030-03-04T12:00');
    expect(await emails()).toEqual(['2030-03-04T09:00 recap ada', '2030-03-04T10:00 reactivation ada']);
  });

  test('gets none about completions after the templates are gone', async () => {
    await configure({ templates: TEMPLATES.filter(({ kind }) => kind === 'recap') });
    await event('ada');
    await listening.to('2030-03-04T12:00');
    expect(await emails()).toEqual(['2030-03-04T09:00 recap ada']);
  });
});

test.each([
  ['without a channel', { templates: TEMPLATES }, null],
  ['with a disabled channel', { templates: TEMPLATES }, false],
  ['without a template', { quietHours: { from: '22:00', to: '07:00' } }, true],
])('no e-mail and no row of progress is made for a tenant %s', async (_, messages, enabled) => {
  await configure(messages);
  if (enabled !== null) await channel(enabled);
  await event('ada');
  await listening.to('2030-03-04T12:00');
  expect(await emails()).toEqual([]);
  const { rows } = await listening.laurel.pool.query(
    "SELECT kind FROM notification_progress WHERE kind LIKE 'emails.%' UNION ALL SELECT 'completion' FROM notification_completions",
  );
  expect(rows).toEqual([]);
});

test('what fell due before templates were set is not sent', async () => {
  await channel();
  await event('ada');
  await listening.to('2030-03-02T21:00');
  await configure({ templates: TEMPLATES });
  await listening.to('2030-03-02T22:00');
  expect(await emails()).toEqual([]);
});
