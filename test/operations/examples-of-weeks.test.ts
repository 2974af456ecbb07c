import { hash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Configuration } from '../../src/domain/configuration.ts';
import { type Exchange, WEEKS } from '../../src/operations/descriptions/examples.ts';
import { adminOperations, applicationOperations } from '../../src/operations/index.ts';
import { makeAjv } from '../../src/operations/validation.ts';
import { smtpServer } from '../engine/messages/smtp-server.ts';
import { clickUrl, htmlOf, pixelUrl } from '../engine/messages/tracked-html.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { namesShown, sendExchange, shown } from './recorded.ts';
import { ok } from '../http/client.ts';

// Records again the examples that take weeks or many users, and compares. UPDATE_EXAMPLES=1 writes the answers into them.
const operations = new Map([...applicationOperations, ...adminOperations].map((one) => [one.id, one]));
const isUpdate = process.env['UPDATE_EXAMPLES'] === '1';

const PUBLIC_URL = 'https://laurel.example.com';
const CONTROL_SHARE = 0.2;

const forRanks = { type: 'achievement', status: 'active', leaderboardKey: 'weekly-cards' } as const;
const CONFIGURATION: Configuration = {
  attributes: [{ key: 'moves', name: 'Moves', type: 'event' }],
  metrics: [
    { key: 'flashcards-flipped', name: 'Cards flipped' },
    { key: 'quiz-points', name: 'Points of a quiz' },
    { key: 'lessons-completed', name: 'Lessons completed' },
  ],
  achievements: [
    {
      key: 'podium',
      name: 'Podium',
      trigger: 'api',
      status: 'active',
      leaderboardKey: 'weekly-cards',
      rankTo: 3,
    },
    {
      key: 'first-lesson',
      name: 'First lesson',
      trigger: 'metric',
      metricKey: 'lessons-completed',
      metricValue: 1,
      status: 'active',
    },
  ],
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [
        { ...forRanks, points: 500, rankTo: 1 },
        { ...forRanks, points: 100, rankFrom: 2, rankTo: 3 },
      ],
    },
  ],
  leaderboards: [
    {
      key: 'weekly-cards',
      name: 'Most cards of the week',
      status: 'active',
      rankBy: 'metric',
      metricKey: 'flashcards-flipped',
      start: '2037-02-23',
      maxParticipants: 100,
      runUnit: 'day',
      runInterval: 7,
      leagues: {
        tiers: [{ name: 'Bronze' }, { name: 'Silver' }, { name: 'Gold' }],
        cohortUsers: 30,
        promoted: 2,
        demoted: 1,
      },
    },
    {
      key: 'best-quizzes',
      name: 'Best quizzes',
      status: 'active',
      rankBy: 'metric',
      metricKey: 'quiz-points',
      start: '2037-02-23',
      aggregate: 'max',
      ties: 'first',
      secondaryAttributeKey: 'moves',
      secondaryOrder: 'ascending',
    },
  ],
  messages: {
    trackOpens: true,
    trackClicks: true,
    templates: [
      {
        kind: 'achievement_completed',
        subject: 'Well done!',
        html: '<body><a href="https://app.example.org/">Go on</a><a href="{{unsubscribeUrl}}">Stop</a></body>',
        text: 'https://app.example.org/ {{unsubscribeUrl}}',
      },
    ],
  },
};

/** IDs in the examples of `examples.test.ts`, by key; those of what only these examples have are invented. */
const BOARD_IDS: Readonly<Record<string, string>> = {
  'weekly-cards': '01a2035a-312a-7105-b469-8b62b58617d0',
  'best-quizzes': '01a2035a-312a-7105-b469-8b62b58617d2',
};
/** The ID in the example of reporting an opened message. */
const MESSAGE_ID = '5c0b7f3e-91d4-8a6e-b2f7-4d1c6a9e8b05';

const PLAYERS = [
  { id: '18', name: 'Ada Lovelace', cards: 560, points: 900, moves: '31' },
  { id: '21', name: 'Grace', cards: 475, points: 900, moves: '44' },
  { id: '24', name: 'Katherine', cards: 320, points: 850, moves: '29' },
  { id: '27', name: 'Annie', cards: 90, points: 900, moves: '38' },
];
/** Ada, and users with an e-mail each. */
const LEARNERS = ['18', ...Array.from({ length: 320 }, (_, number) => String(1001 + number))];

/** As documented: the first 32 bits of a hash, as a share. */
const isControl = (id: string): boolean =>
  Number(`0x${hash('sha256', `control:${id}`, 'hex').slice(0, 8)}`) / 2 ** 32 < CONTROL_SHARE;
/** Hours after the message at which a user has an event again; `null` if never. */
function returnsAfter(id: string): number | null {
  const tenth = Number(id) % 10;
  if (isControl(id)) return tenth < 2 ? 20 : tenth < 4 ? 60 : null;
  return tenth < 4 ? 20 : tenth < 5 ? 60 : tenth < 6 ? 100 : null;
}

let laurel: TestLaurel;
let mail: Awaited<ReturnType<typeof smtpServer>>;
/** Texts of the examples, and their values in this Laurel. */
const names = new Map<string, string>();
const answers = new Map<Exchange, unknown>();
beforeAll(async () => {
  mail = await smtpServer();
  laurel = await startLaurel({
    testClock: true,
    workers: true,
    webhookAllowPrivate: true,
    publicUrl: PUBLIC_URL,
    secretsKey: randomBytes(32),
    worker: { emails: { everyMs: 50 } },
    // A cohort has users of one shard.
    spread: 1,
  });
  await to('2037-02-26T09:30');
  await ok(laurel.admin.put('/v1/configuration', CONFIGURATION));
  for (const { key, id } of await ok(laurel.admin.get('/v1/leaderboards'))) names.set(BOARD_IDS[key]!, id);
});
afterAll(async () => {
  await laurel?.close();
  await mail?.close();
  if (!isUpdate) return;
  const now = WEEKS.exchanges.map((exchange) => ({ ...exchange, answer: answers.get(exchange) ?? exchange.answer }));
  writeFileSync(WEEKS.file, `${JSON.stringify(now, null, 2)}\n`);
});

/** Sets the clock, `YYYY-MM-DDTHH:MM` in UTC, and waits for what is due by then. */
const to = (time: string): Promise<void> => ok(laurel.admin.put('/v1/clock', { now: `${time}:00.000Z` }));

const events = (list: object[]): Promise<void> => ok(laurel.admin.post('/v1/metrics/events?wait=true', list));

/** The counts of the e-mails of 1 April. */
const figures = async () =>
  (await ok(laurel.admin.get('/v1/analytics/messages?from=2037-04-01&to=2037-04-01'))).messages[0];

/** Reports, as the mail provider would, that the e-mails arrived, except those to an address that does not exist. */
async function reportArrivals(): Promise<void> {
  const { url } = await ok(laurel.admin.put('/v1/messages/feedback', {}));
  const { rows } = await laurel.pool.query<{ id: string; userId: string }>(
    `SELECT id, user_id AS "userId" FROM email_messages WHERE status = 'sent'`,
  );
  const reports = rows.map(({ id, userId }) => ({
    messageId: id,
    ...(Number(userId) % 100 === 7 ? { type: 'bounced', permanent: true } : { type: 'delivered' }),
  }));
  await ok(laurel.app.post(url.slice(PUBLIC_URL.length), reports, { key: null }));
}

/** Loads what an e-mail leads to, as its reader does. */
async function follow(url: string): Promise<void> {
  const { status } = await fetch(laurel.appUrl + url.slice(PUBLIC_URL.length), { redirect: 'manual' });
  expect([200, 302]).toContain(status);
}

/** Sends an example's request, compares the answer, and checks that it fits. */
async function record(operationId: string, title?: string): Promise<void> {
  const exchange = WEEKS.exchanges.find((one) => one.operation === operationId && one.title === title)!;
  const operation = operations.get(operationId)!;
  const { status, body } = await sendExchange(laurel, { operation, exchange, names });
  expect(status).toBe(exchange.status);
  const answer = shown(body, namesShown(names));
  answers.set(exchange, answer);
  const ajv = makeAjv();
  expect([ajv.validate(operation.responses[status]!, answer), ajv.errorsText()]).toEqual([true, 'No errors']);
  if (!isUpdate) expect(answer).toEqual(exchange.answer);
}

test('a week of a league, with quizzes in few moves', async () => {
  await events(
    PLAYERS.flatMap(({ id, name, cards, points, moves }) => [
      { key: 'flashcards-flipped', user: { id, name }, value: cards },
      { key: 'quiz-points', user: { id }, value: points, attributes: { moves } },
    ]),
  );
  const leagues = `/v1/leaderboards/${names.get(BOARD_IDS['weekly-cards']!)}/leagues`;
  await expect.poll(async () => (await laurel.admin.get(leagues)).body.tiers[0].users).toBe(PLAYERS.length);
  await record('users_leaderboard_leagues');
  await record('admin_leaderboards_leagues');
  await record('admin_leaderboards_cohorts');
  await record('leaderboards_get', 'With secondary scores');
  await to('2037-02-27T10:00');
  await record('users_leaderboard', 'With a secondary score');
});

test('the final run and its rewards', async () => {
  await to('2037-03-03T10:00');
  const run = '/v1/leaderboards/weekly-cards?run=2037-02-23';
  await expect.poll(async () => (await laurel.app.get(run)).body.rankings[2].rewards).toBeDefined();
  await record('leaderboards_get', 'A final run with rewards');
});

test('e-mails, what became of them, and their effect', async () => {
  await to('2037-04-01T09:00');
  await ok(laurel.admin.patch('/v1/organisation', { controlShare: CONTROL_SHARE }));
  const channel = {
    host: '127.0.0.1',
    port: mail.port,
    security: 'none',
    senderAddress: 'hello@example.org',
    pace: 100,
  };
  await ok(laurel.admin.put('/v1/messages/channel', channel));
  const lesson = (id: string) => ({
    key: 'lessons-completed',
    user: { id, email: `${id}@example.org` },
    value: 1,
  });
  await events(LEARNERS.map(lesson));
  await to('2037-04-01T17:00');
  const due = LEARNERS.filter((id) => !isControl(id));
  await expect.poll(async () => (await figures()).sent).toBe(due.length);
  await reportArrivals();

  await to('2037-04-01T18:24');
  const emails = mail.received.map(({ to: [address], content }) => {
    const id = Number(address!.split('@')[0]);
    return { html: htmlOf(content), opened: id % 3 === 0 && id % 100 !== 7, clicked: id % 9 === 0 && id % 100 !== 7 };
  });
  for (const { html } of emails.filter(({ opened }) => opened)) await follow(pixelUrl(html));
  for (const { html } of emails.filter(({ clicked }) => clicked)) await follow(clickUrl(html));
  const opened = emails.filter((email) => email.opened).length;
  const clicked = emails.filter((email) => email.clicked).length;
  await expect.poll(figures).toMatchObject({ opened, clicked });
  const { messages } = await ok(laurel.admin.get('/v1/messages?userId=18'));
  names.set(MESSAGE_ID, messages[0].id);
  await record('admin_messages_list');

  for (const hours of [20, 60, 100, 169]) {
    await to(new Date(Date.parse('2037-04-01T17:00Z') + hours * 3_600_000).toISOString().slice(0, 16));
    const returning = LEARNERS.filter((id) => returnsAfter(id) === hours);
    if (returning.length > 0) await events(returning.map(lesson));
  }
  await record('admin_analytics_messages');
  await record('admin_analytics_messages_effect');
});

test('every example of weeks is recorded', () => {
  expect(WEEKS.exchanges.filter((exchange) => !answers.has(exchange))).toEqual([]);
});
