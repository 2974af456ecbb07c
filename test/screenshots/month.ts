import { CONFIGURATION } from './configuration.ts';
import type { Places } from './screens.ts';

/** A Laurel with a test clock. */
export interface Target {
  appUrl: string;
  adminUrl: string;
  key: string;
}

const USERS = 300;
const DAYS = 30;
/** A Tuesday far enough ahead that the clock, which only moves forward, can be set to it: pictures of different days show the same dates. */
const START = Date.parse('2030-01-08T00:00:00Z');
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** UTC hours at which users are active, about morning, afternoon and evening in Europe. */
const HOURS = [7, 13, 18.5];
/** The share of users who are active at such an hour, so that there are about 10,000 events. */
const ACTIVITY = 0.68;

const NAMES = [
  'Ada',
  'Ben',
  'Cleo',
  'Dan',
  'Eve',
  'Finn',
  'Gül',
  'Hugo',
  'Ines',
  'Jun',
  'Kofi',
  'Lena',
  'Mia',
  'Noé',
  'Olga',
];
const SURNAMES = [
  'Adeyemi',
  'Bauer',
  'Costa',
  'Díaz',
  'Eriksen',
  'Fischer',
  'Garcia',
  'Horváth',
  'Ito',
  'Jansen',
  'Kowalska',
];
const COUNTRIES = [
  ['DE', 'Europe/Berlin'],
  ['GB', 'Europe/London'],
  ['US', 'America/New_York'],
  ['BR', 'America/Sao_Paulo'],
  ['JP', 'Asia/Tokyo'],
] as const;
const SUBJECTS = ['languages', 'mathematics', 'history'];

/** The same numbers in each run (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

interface Player {
  id: string;
  name: string;
  email: string;
  tz: string;
  attributes: { country: string; plan: string };
  /** The day of the first event. */
  firstDay: number;
  /** 0 to 1. */
  eagerness: number;
  /** After this day the user stays away. */
  lastDay: number;
}

// oxlint-disable-next-line typescript/no-explicit-any -- answers of any shape
type Call = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<any>;

function callsOf({ appUrl, adminUrl, key }: Target): { app: Call; admin: Call } {
  const at =
    (url: string): Call =>
    async (method, path, body, headers) => {
      const response = await fetch(url + path, {
        method,
        headers: { 'X-API-KEY': key, ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
      return text === '' ? null : JSON.parse(text);
    };
  return { app: at(appUrl), admin: at(adminUrl) };
}

function playersOf(random: () => number): Player[] {
  const one = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  return Array.from({ length: USERS }, (_, no) => {
    const [country, tz] = one(COUNTRIES);
    const name = `${one(NAMES)} ${one(SURNAMES)}`;
    const firstDay = no < 40 ? 0 : Math.floor(random() * DAYS);
    return {
      id: `user-${no + 1}`,
      name,
      email: `user-${no + 1}@example.com`,
      tz,
      attributes: { country, plan: random() < 0.25 ? 'pro' : 'free' },
      firstDay,
      eagerness: 0.25 + 0.75 * random(),
      lastDay: random() < 0.3 ? firstDay + Math.floor(random() * 12) : DAYS,
    };
  });
}

/** What the users of an hour send. */
function eventsAt(day: number, players: readonly Player[], random: () => number): object[] {
  const weekend = day % 7 === 4 || day % 7 === 5 ? 0.7 : 1;
  return players
    .filter((each) => day >= each.firstDay && day <= each.lastDay && random() < each.eagerness * ACTIVITY * weekend)
    .flatMap(({ id, name, email, tz, attributes }) => {
      const user = { id, name, email, tz, attributes };
      const subject = SUBJECTS[Math.floor(random() * SUBJECTS.length)]!;
      const moves = String(10 + Math.floor(random() * 40));
      const flips = 3 + Math.floor(random() ** 2 * 60);
      const events: object[] = [
        { key: 'flashcards-flipped', user, value: flips, attributes: { subject, moves } },
        { key: 'minutes-studied', user, value: Math.ceil(flips * (0.3 + random())), attributes: { subject } },
      ];
      // The guard holds these back.
      if (random() < 0.001) events.push({ key: 'flashcards-flipped', user, value: 5_000 });
      return events;
    });
}

/**
 * Fills an empty Laurel as a month of use would: about 300 users and 10,000 events, with leagues, rewards for ranks, claims, a
 * merge, e-mails to `smtpPort`, webhooks to `webhookUrl` and to a port where nobody listens.
 */
export async function liveAMonth(
  target: Target,
  { smtpPort, webhookUrl, say }: { smtpPort: number; webhookUrl: string; say: (line: string) => void },
): Promise<Places> {
  const { app, admin } = callsOf(target);
  const random = numbers(46);
  const players = playersOf(random);
  const setClock = (ms: number) => admin('PUT', '/v1/clock', { now: new Date(ms).toISOString() });

  await setClock(START);
  await admin('PUT', '/v1/configuration', CONFIGURATION);
  await admin('PUT', '/v1/messages/channel', {
    host: '127.0.0.1',
    port: smtpPort,
    security: 'none',
    senderAddress: 'hello@example.com',
    senderName: 'Study App',
    pace: 100,
    enabled: true,
  });
  const webhooks = await admin('POST', '/v1/webhooks', [
    {
      name: 'App server',
      url: webhookUrl,
      events: ['achievement.completed', 'leaderboard.finished', 'reward.claimed'],
    },
    { name: 'Old server', url: 'http://127.0.0.1:9/', events: ['streak.lost'] },
  ]);

  let sent = 0;
  for (let day = 0; day < DAYS; day += 1) {
    for (const hour of HOURS) {
      await setClock(START + day * DAY_MS + hour * HOUR_MS);
      const events = eventsAt(day, players, random);
      if (events.length > 0) await admin('POST', '/v1/metrics/events?wait=true', events);
      sent += events.length;
    }
    if (day % 5 === 4) say(`day ${day + 1} of ${DAYS}: ${sent} events`);
  }
  await claimRewards({ app, admin, players });
  const recomputationId = await administrate({ app, admin });

  const id = async (path: string, key: string): Promise<string> =>
    ((await admin('GET', path)) as { id: string; key: string }[]).find((each) => each.key === key)!.id;
  return {
    pointsId: await id('/v1/points', 'xp'),
    metricId: await id('/v1/metrics', 'flashcards-flipped'),
    webhookId: webhooks.created[0].id,
    recomputationId,
  };
}

/** Users who exist and can pay claim a reward; administrators deliver some and cancel one. */
async function claimRewards({ app, admin, players }: { app: Call; admin: Call; players: Player[] }): Promise<void> {
  const claims: string[] = [];
  for (const { id } of players.slice(0, 60)) {
    const offered: { key: string; claimable: boolean }[] = await app('GET', `/v1/users/${id}/rewards`).catch(() => []);
    const reward = offered.find(({ claimable }) => claimable);
    if (reward === undefined) continue;
    const claim = await app(
      'POST',
      `/v1/rewards/${reward.key}/claim`,
      { userId: id },
      { 'Idempotency-Key': `claim-${id}` },
    );
    claims.push(claim.id);
  }
  for (const id of claims.slice(0, 12)) await admin('POST', `/v1/claims/${id}/fulfil`);
  for (const id of claims.slice(12, 14)) await admin('POST', `/v1/claims/${id}/cancel`, { reason: 'Wrong address' });
}

/** A merge, keys of users, a refused event, and a new rule whose recomputation is shown but not applied. */
async function administrate({ app, admin }: { app: Call; admin: Call }): Promise<string> {
  const flip = '/v1/metrics/flashcards-flipped/event';
  await app('POST', flip, { user: { id: 'guest-7f3a', tz: 'Europe/Berlin' }, value: 12 });
  await admin('POST', '/v1/users/merge', { from: 'guest-7f3a', into: 'user-3' });
  await admin('POST', '/v1/application-api-keys', [{ userId: 'user-1' }, { userId: 'user-2', scope: 'events' }]);
  await app('POST', '/v1/metrics/laps/event', { user: { id: 'user-1' }, value: 1 }).catch(() => undefined);
  const flips = { trigger: 'metric', metricKey: 'flashcards-flipped', status: 'active' } as const;
  const achievements = [
    ...CONFIGURATION.achievements!,
    { key: 'hundred', name: 'A hundred', description: 'Flip 100 flashcards.', metricValue: 100, ...flips },
  ];
  await admin('PUT', '/v1/configuration', { achievements });
  const { id } = await admin('POST', '/v1/recomputations', { what: ['achievements'] });
  return id;
}
