import { describe, expect, test } from 'vitest';
import { userKey } from '../../src/redis/keys.ts';
import { PROFILE_BYTES, STATE_BYTES } from '../../src/packed/state.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { changeState } from '../stack/change-state.ts';
import { onlyPart } from '../stack/only-part.ts';
import { opened } from '../stack/opened.ts';

// Every input limits what a user can say about itself.
const laurel = opened(() =>
  startLaurel({
    configuration: {
      ...STUDY_APP,
      attributes: [
        ...STUDY_APP.attributes!,
        ...Array.from({ length: 400 }, (_, no) => ({ key: `a${no}`, name: `a${no}`, type: 'user' as const })),
      ],
      metrics: [
        ...STUDY_APP.metrics!,
        { key: 'guarded', name: 'Guarded', guards: { maxValue: { limit: 10, action: 'quarantine' } } },
      ],
      leaderboards: [
        ...(STUDY_APP.leaderboards ?? []),
        ...Array.from({ length: 40 }, (_, no) => ({
          key: `grouped-${no}`,
          name: 'Grouped',
          status: 'active' as const,
          rankBy: 'metric' as const,
          metricKey: 'minutes',
          start: '2026-01-01',
          breakdownAttributes: ['a399'],
        })),
      ],
      streaks: { ...STUDY_APP.streaks, personalization: true },
    },
  }),
);

const ID = 'fixed';
/** Every request that says something about a user, with its status and error. */
const WAYS: Record<string, (user: object) => Promise<{ status: number; body: { error?: string } }>> = {
  'an event': (user) => laurel.app.post('/v1/metrics/flips/event', { user: { id: ID, ...user }, value: 1 }),
  'the alias of an event': (user) =>
    laurel.app.post('/api/metrics/flips/event', { user: { id: ID, ...user }, value: 1 }),
  users_create: (user) => laurel.app.post('/v1/users', { id: ID, ...user }),
  users_identify: (user) => laurel.app.put(`/v1/users/${ID}`, user),
  users_update: (user) => laurel.app.patch(`/v1/users/${ID}`, user),
  achievements_complete: (user) => laurel.app.post('/v1/achievements/tour/complete', { user: { id: ID, ...user } }),
  'a batch': (user) => laurel.admin.post('/v1/metrics/events', [{ key: 'flips', user: { id: ID, ...user }, value: 1 }]),
};

/** As many attributes as a request may have, with nearly as many bytes as are allowed. */
const attributes = Array.from({ length: 100 }, (_, no) => [`a${no}`, 'x'.repeat(no < 22 ? 1_024 : 1)]);

/** 341 characters, 1,023 bytes. */
const WIDE = '\u20ac'.repeat(341);
const TOO_MUCH: [string, object, RegExp][] = [
  ['a long name', { name: 'x'.repeat(1_025) }, /name must have at most 1024 bytes in UTF-8$/],
  ['a long name in other letters', { name: `${WIDE}\u20ac` }, /name must have at most 1024 bytes in UTF-8$/],
  ['a long e-mail address', { email: `a@${'x'.repeat(319)}` }, /email must have at most 320 bytes in UTF-8$/],
  ['an e-mail address with a line break', { email: 'a@b.example\nBcc: all' }, /email must be an e-mail address$/],
  ['an invalid e-mail address', { email: 'nobody' }, /email must be an e-mail address$/],
  ['a long zone', { tz: 'x'.repeat(256) }, /tz must have at most 255 bytes/],
  [
    'a long attribute value',
    { attributes: { plan: `${WIDE}\u20ac` } },
    /attributes\.plan must have at most 1024 bytes in UTF-8$/,
  ],
  [
    'many attributes',
    { attributes: Object.fromEntries(Array.from({ length: 101 }, (_, no) => [`a${no}`, ''])) },
    /attributes must have at most 100 fields$/,
  ],
  [
    'many device tokens',
    { deviceTokens: Array.from({ length: 21 }, String) },
    /deviceTokens must have at most 20 items$/,
  ],
  ['a long device token', { deviceTokens: ['x'.repeat(1_025)] }, /deviceTokens\[0\] must have at most 1024 bytes/],
];

describe.each(Object.keys(WAYS))('%s', (way) => {
  test.each(TOO_MUCH)('refuses %s and names the field', async (_what, user, error) => {
    expect(await WAYS[way]!(user)).toMatchObject({ status: 400, body: { error: expect.stringMatching(error) } });
  });

  test('accepts the maximum', async () => {
    // Each field may have its own maximum, and all together PROFILE_BYTES; so the others are cleared first.
    const cleared = {
      name: '',
      email: '',
      deviceTokens: [],
      attributes: Object.fromEntries(attributes.map(([key]) => [key, ''])),
    };
    const fields = {
      name: `${WIDE}x`,
      email: `a@${'x'.repeat(318)}`,
      tz: 'America/Argentina/ComodRivadavia',
      deviceTokens: Array.from({ length: 20 }, () => 'x'.repeat(1_024)),
    };
    for (const user of [fields, { attributes: Object.fromEntries(attributes) as object }]) {
      expect((await laurel.app.put(`/v1/users/${ID}`, cleared)).status).toBe(200);
      expect((await WAYS[way]!(user)).status).toBeLessThan(300);
      if (way !== 'a batch') expect((await laurel.app.get(`/v1/users/${ID}`)).body).toMatchObject(user);
    }
  });
});

test('attributes of an event and a streak rule are limited as well', async () => {
  const event = (attributes: object) =>
    laurel.app.post('/v1/metrics/flips/event', { user: { id: 'b' }, value: 1, attributes });
  expect(await event({ deck: 'x'.repeat(1_025) })).toMatchObject({
    status: 400,
    body: { error: expect.stringMatching(/^attributes\.deck must have at most 1024 bytes/) },
  });
  expect(await event({ deck: 'x'.repeat(1_024) })).toMatchObject({ status: 201 });
  const rule = (metrics: object[]) => laurel.app.patch('/v1/users/b/preferences', { streak: { metrics } });
  expect(await rule(Array.from({ length: 101 }, () => ({ key: 'flips', threshold: 1 })))).toMatchObject({
    status: 400,
    body: { error: 'streak.metrics must have at most 100 items' },
  });
  expect(await rule([{ key: 'x'.repeat(256), threshold: 1 }])).toMatchObject({
    status: 400,
    body: { error: 'streak.metrics[0].key must have at most 255 characters' },
  });
});

describe('everything that Laurel keeps of a user', () => {
  const full = (from: number, count: number, value = 'x'.repeat(1_024)): object =>
    Object.fromEntries(Array.from({ length: count }, (_, no) => [`a${from + no}`, value]));
  const stateBytes = (id: string): Promise<number> => laurel.redis.strlen(userKey(onlyPart(0), id));
  const patch = (id: string, attributes: object) => laurel.app.patch(`/v1/users/${id}`, { attributes });
  const event = (id: string, attributes: object = {}) =>
    laurel.app.post('/v1/metrics/minutes/event', { user: { id, attributes }, value: 1 });
  const refusedFor = (bytes: number) => ({
    status: 422,
    body: { error: expect.stringContaining(`more than ${bytes} bytes`) },
  });
  const refused = refusedFor(PROFILE_BYTES);
  const filled = async (id: string): Promise<void> => {
    await laurel.app.put(`/v1/users/${id}`, {});
    expect((await patch(id, full(0, 23))).status).toBe(200);
  };

  test('limits what requests say, and applies nothing of a refused request', async () => {
    await filled('much');
    const before = await stateBytes('much');
    expect(before).toBeGreaterThan(23_000);
    expect(await patch('much', full(250, 5))).toMatchObject(refused);
    expect(await laurel.app.patch('/v1/users/much', { deviceTokens: ['t'.repeat(1_024)] })).toMatchObject(refused);
    expect(await event('much', full(250, 5))).toMatchObject(refused);
    const user = { id: 'much', attributes: full(250, 5) };
    expect(await laurel.app.post('/v1/achievements/tour/complete', { user })).toMatchObject(refused);
    const guarded = await laurel.app.post('/v1/metrics/guarded/event', { user, value: 1_000 });
    expect(guarded).toMatchObject(refused);
    const imported = { id: 'brought', created: '2026-01-01T00:00:00Z', attributes: full(0, 25) };
    const { body } = await laurel.admin.post('/v1/imports?import=past', [imported]);
    expect(JSON.stringify(body)).toContain(`more than ${PROFILE_BYTES} bytes`);
    expect(await stateBytes('much')).toBe(before);
    expect((await laurel.app.get('/v1/users/much/metrics/minutes')).body.current).toBe(0);
    expect(await event('much')).toMatchObject({ status: 201, body: { total: 1 } });
  });

  test('leaves room for what events add, which is limited together with it', async () => {
    await laurel.app.put('/v1/users/grouped', {});
    // The value is in the groups of 40 leaderboards as well: 41 KB for a user who had nothing.
    const value = 'x'.repeat(1_024);
    expect(await event('grouped', { a399: value })).toMatchObject(refusedFor(STATE_BYTES));
    expect(await stateBytes('grouped')).toBeLessThan(1_000);
    expect(await event('grouped', { a399: 'x'.repeat(500) })).toMatchObject({ status: 201, body: { total: 1 } });
    expect(await event('grouped', { a399: value })).toMatchObject(refusedFor(STATE_BYTES));
    expect(await event('grouped', full(0, 5))).toMatchObject({ status: 201, body: { total: 2 } });
    expect(await stateBytes('grouped')).toBeLessThanOrEqual(STATE_BYTES);
  });

  test('counts the events of one call together', async () => {
    await laurel.app.put('/v1/users/together', {});
    const events = Array.from({ length: 8 }, (_, no) => event('together', full(no * 5, 5)));
    const statuses = (await Promise.all(events)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([201, 422]));
    expect(await stateBytes('together')).toBeLessThanOrEqual(STATE_BYTES);
    const taken = statuses.filter((status) => status === 201).length;
    expect(taken).toBe(4);
    expect((await laurel.app.get('/v1/users/together/metrics/minutes')).body.current).toBe(taken);
  });

  test('a user beyond the limits can be read and reduced, but cannot grow', async () => {
    await filled('old');
    await changeState(laurel.redis, userKey(onlyPart(0), 'old'), ({ attributes }) => {
      for (const no of attributes.keys()) attributes.set(no, 'y'.repeat(5_000));
    });
    expect(await stateBytes('old')).toBeGreaterThan(100_000);
    expect((await laurel.app.get('/v1/users/old')).status).toBe(200);
    expect(await patch('old', full(300, 1))).toMatchObject(refused);
    expect((await patch('old', full(0, 23, 'short'))).status).toBe(200);
    expect(await event('old', full(300, 1))).toMatchObject({ status: 201 });
  });
});
