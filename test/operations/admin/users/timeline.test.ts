import { describe, expect, test } from 'vitest';
import { FixedClock } from '../../../../src/clock.ts';
import type { TimelineEntry, TimelinePage } from '../../../../src/domain/administration/timeline.ts';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { opened } from '../../../stack/opened.ts';

const NOW = Date.UTC(2026, 10, 18, 12);
const clock = new FixedClock(NOW);
const laurel = opened(() => startLaurel({ configuration: STUDY_APP, clock, workers: true }));

const read = (id: string, query = '') => laurel.admin.get(`/v1/users/${encodeURIComponent(id)}/timeline${query}`);

async function timeline(id: string, query = ''): Promise<TimelineEntry[]> {
  const { status, body } = await read(id, query);
  expect(status).toBe(200);
  return body.entries;
}

const event = (id: string, value: number, more: object = {}, headers: Record<string, string> = {}) =>
  laurel.app.post('/v1/metrics/flips/event', { user: { id, ...more }, value }, { headers });

/** The only one of a kind. */
function one<K extends TimelineEntry['kind']>(entries: TimelineEntry[], kind: K): Extract<TimelineEntry, { kind: K }> {
  const found = entries.filter((entry) => entry.kind === kind);
  expect(found).toHaveLength(1);
  return found[0] as Extract<TimelineEntry, { kind: K }>;
}

const causedKinds = (entry: TimelineEntry) => ('caused' in entry ? entry.caused.map(({ kind }) => kind) : []);

test('an event and its effects are one entry, with the rules', async () => {
  const answer = await event('ada', 12.5, { attributes: { plan: 'pro' } }, { 'Idempotency-Key': 'once' });
  const entries = await timeline('ada');
  expect(entries.map(({ kind }) => kind)).toEqual(['event', 'user_creation']);
  const entry = one(entries, 'event');
  const at = new Date(NOW).toISOString();
  expect(entry).toMatchObject({
    id: answer.body.eventId,
    at,
    metric: { key: 'flips', name: 'Flashcards flipped' },
    value: 12.5,
    total: 12.5,
    localDate: '2026-11-18',
    attributes: {},
    idempotencyKey: 'once',
  });
  expect(entry.caused).toEqual([
    { kind: 'streak', length: 1, frequency: 'daily' },
    expect.objectContaining({
      kind: 'achievement',
      achievement: expect.objectContaining({ key: 'ten', name: 'Ten flips' }),
      rule: {
        type: 'metric',
        metric: expect.objectContaining({ key: 'flips' }),
        threshold: 10,
        userAttributes: [],
        eventAttributes: [],
      },
    }),
    expect.objectContaining({ achievement: expect.objectContaining({ key: 'day' }) }),
    expect.objectContaining({
      achievement: expect.objectContaining({ key: 'both' }),
      rule: expect.objectContaining({
        type: 'achievement',
        achievements: [expect.objectContaining({ key: 'ten' }), expect.objectContaining({ key: 'day' })],
      }),
    }),
    expect.objectContaining({
      kind: 'award',
      awarded: 10,
      total: 10,
      pointsSystem: expect.objectContaining({ key: 'xp' }),
      rule: expect.objectContaining({ type: 'user_creation', points: 5 }),
      boosts: [{ id: expect.any(String), name: 'Double', multiplier: 2 }],
    }),
    expect.objectContaining({ kind: 'level', level: expect.objectContaining({ key: 'novice' }), previousLevel: null }),
    expect.objectContaining({
      kind: 'award',
      awarded: 40,
      total: 50,
      rule: expect.objectContaining({ type: 'metric', points: 10, threshold: 5 }),
    }),
    expect.objectContaining({
      kind: 'award',
      awarded: 100,
      total: 150,
      rule: expect.objectContaining({ achievements: [expect.objectContaining({ key: 'ten' })] }),
    }),
    { kind: 'leaderboard', leaderboard: expect.objectContaining({ key: 'flips' }), run: '2026-01-01', change: 12.5 },
    { kind: 'leaderboard', leaderboard: expect.objectContaining({ key: 'weekly' }), run: '2026-11-12', change: 150 },
    { kind: 'leaderboard', leaderboard: expect.objectContaining({ key: 'plans' }), run: '2026-01-01', change: 12.5 },
  ]);
});

describe('shows the rules of that time', () => {
  const triggers = async () => (await laurel.admin.get('/v1/configuration')).body;
  const configure = async (points: number, level: number) => {
    const document = await triggers();
    const [xp] = document.pointsSystems;
    xp.triggers.find(({ type }: { type: string }) => type === 'metric').points = points;
    xp.levels[0].points = level;
    expect((await laurel.admin.put('/v1/configuration', document)).status).toBe(200);
  };
  const rulesOf = (entry: TimelineEntry) =>
    'caused' in entry ? entry.caused.flatMap((each) => (each.kind === 'award' ? [each.rule?.points] : [])) : [];

  // The clock stands still: the version of the catalog says which rule it was.
  test('even if they were changed several times since, and at the same time', async () => {
    await event('bob', 1);
    await event('bob', 4);
    for (const points of [20, 30, 40]) {
      await configure(points, points * 10);
      await event('bob', 5);
    }
    const entries = (await timeline('bob')).filter(({ kind }) => kind === 'event');
    expect(entries.map((entry) => rulesOf(entry))).toEqual([[40], [30], [20, 50], [10], [5]]);
    // 10 points, then 30; the event that completed 10 flips reached the level of 200, those of 300 and 400 came too late.
    expect(entries.map((entry) => causedKinds(entry).includes('level'))).toEqual([false, false, false, false, true]);
    await configure(10, 10);
  });

  test('does not know changes from before changes were recorded', async () => {
    await event('carl', 5);
    const before = await timeline('carl');
    expect(rulesOf(one(before, 'event'))).toEqual([5, 10]);
    // As if the event, and the change after it, were of an earlier Laurel.
    for (const table of ['events', 'awards', 'completions'])
      await laurel.pool.query(`UPDATE ${table} SET catalog_version = NULL WHERE user_id = 'carl'`);
    expect(rulesOf(one(await timeline('carl'), 'event'))).toEqual([5, 10]);
    await laurel.pool.query(`DELETE FROM catalog_versions`);
    await laurel.pool.query(
      `UPDATE catalog_resources SET updated = updated + INTERVAL '1 hour' WHERE doc ->> 'type' = 'metric'`,
    );
    expect(rulesOf(one(await timeline('carl'), 'event'))).toEqual([5, undefined]);
  });

  test('keeps the name of what was deleted since', async () => {
    const [metric] = (await laurel.admin.post('/v1/metrics', [{ key: 'gone', name: 'Gone', unitType: 'number' }])).body
      .created;
    await laurel.app.post('/v1/metrics/gone/event', { user: { id: 'dana' }, value: 1 });
    await laurel.admin.delete(`/v1/metrics?ids=${metric.id}`);
    expect(one(await timeline('dana'), 'event').metric).toEqual({ id: metric.id, key: 'gone', name: 'Gone' });
  });
});

test('entries without an event: a call, the first sight, administrators', async () => {
  await laurel.app.put('/v1/users/eve', { name: 'Eve' });
  await laurel.app.post('/v1/achievements/tour/complete', { user: { id: 'eve' } });
  clock.set(clock.now() + 1000);
  await event('eve', 1);
  await laurel.admin.post('/v1/streaks/pauses', {
    pauses: [{ userId: 'eve', start: '2026-11-20', end: '2026-11-21' }],
  });
  clock.set(clock.now() + 1000);
  await laurel.admin.post('/v1/streaks/reset', { users: [{ id: 'eve' }] });
  await expect
    .poll(async () => (await timeline('eve')).map((entry) => [entry.kind, 'who' in entry && entry.who !== null]))
    .toEqual([
      ...['daily', 'weekly', 'monthly'].map(() => ['streak', true]),
      ['administration', true],
      ['event', false],
      ['administration', true],
      ['achievement', false],
      ['user_creation', false],
    ]);
  const entries = await timeline('eve');
  expect(entries[0]).toMatchObject({ kind: 'streak', change: 'reset', length: 1, who: laurel.adminKey.split('.')[0] });
  expect(entries[3]).toMatchObject({ action: 'create', subject: 'streak_pause', after: { start: '2026-11-20' } });
  expect(one(entries, 'achievement')).toMatchObject({
    achievement: { key: 'tour' },
    by: 'call',
    rule: { type: 'api' },
  });
  expect(causedKinds(one(entries, 'user_creation'))).toEqual(['award', 'level', 'leaderboard']);
});

test('a freeze that an administrator gives is no change of a streak', async () => {
  const freezes = (enabled: boolean) =>
    laurel.admin.put('/v1/configuration', { streaks: { freezes: { enabled, initial: 0, max: 3 } } });
  await freezes(true);
  await event('gil', 1);
  expect(await laurel.admin.post('/v1/streaks/freezes', { freezes: [{ userId: 'gil' }] })).toMatchObject({
    status: 201,
  });
  const recorded = async () =>
    (await laurel.pool.query("SELECT kind FROM streak_changes WHERE user_id = 'gil'")).rows.map(({ kind }) => kind);
  await expect.poll(recorded).toEqual([9]);
  expect((await timeline('gil')).map(({ kind }) => kind)).toEqual(['administration', 'event', 'user_creation']);
  await freezes(false);
});

test('pages in both directions, which new entries do not move', async () => {
  for (let n = 0; n < 10; n += 1) {
    clock.set(clock.now() + 60_000);
    await event('fay', 1);
  }
  const all = await timeline('fay', '?limit=100');
  expect(all).toHaveLength(11);
  const pages: TimelineEntry[] = [];
  let cursor: string | null = null;
  for (let n = 0; n < 20; n += 1) {
    const body: TimelinePage = (await read('fay', `?limit=3${cursor === null ? '' : `&cursor=${cursor}`}`)).body;
    pages.push(...body.entries);
    cursor = body.nextCursor;
    if (n === 1) await event('fay', 5);
    if (cursor === null) break;
  }
  expect(pages).toEqual(all);
  const oldest = await timeline('fay', '?limit=100&order=asc');
  expect(oldest.toReversed().slice(1)).toEqual(all);
});

describe('events with idempotency keys within one millisecond', () => {
  const VALUES = Array.from({ length: 24 }, (_, index) => 1 + (index % 3));

  const totalsOf = (entries: TimelineEntry[]): number[] =>
    entries.flatMap((entry) => (entry.kind === 'event' ? [entry.total] : []));
  const awardsOf = (entries: TimelineEntry[]) =>
    entries.flatMap((entry) => ('caused' in entry ? entry.caused : [])).filter((each) => each.kind === 'award');

  async function pages(query: string): Promise<TimelineEntry[]> {
    const entries: TimelineEntry[] = [];
    for (let cursor = ''; ;) {
      const { body } = await read('keys', `?${query}${cursor}`);
      const page = body as TimelinePage;
      entries.push(...page.entries);
      if (page.nextCursor === null) return entries;
      cursor = `&cursor=${page.nextCursor}`;
    }
  }

  test('are in the order in which they were applied, across pages and in both directions', async () => {
    const answers = await Promise.all(
      VALUES.map((value, index) => event('keys', value, {}, { 'Idempotency-Key': `k${index}` })),
    );
    const ascending = await pages('order=asc&limit=100');
    const events = ascending.filter((entry) => entry.kind === 'event');
    expect(new Set(events.map(({ id }) => id))).toEqual(new Set(answers.map(({ body }) => body.eventId as string)));
    expect(new Set(events.map(({ position }) => position.slice(0, 13)))).toHaveLength(1);
    for (const [index, { total, value }] of events.entries())
      expect(total - value).toBe(index === 0 ? 0 : events[index - 1]!.total);
    const awards = awardsOf(ascending);
    expect(awards.length).toBeGreaterThan(2);
    for (const [index, { total, awarded }] of awards.entries())
      expect(total - awarded).toBe(index === 0 ? 0 : awards[index - 1]!.total);

    const totals = totalsOf(ascending);
    for (const limit of [5, 13]) {
      expect(totalsOf(await pages(`order=asc&limit=${limit}`))).toEqual(totals);
      expect(totalsOf(await pages(`order=desc&limit=${limit}`))).toEqual(totals.toReversed());
    }
  });
});

test('filters by kind and by time', async () => {
  const [first, second] = [clock.now() + 3_600_000, clock.now() + 7_200_000];
  clock.set(first);
  await event('gus', 1);
  clock.set(second);
  await event('gus', 9);
  const of = async (query: string) => (await timeline('gus', query)).map(({ kind, at }) => [kind, Date.parse(at)]);
  const iso = (ms: number) => new Date(ms).toISOString();
  expect(await of('?kind=achievement')).toEqual([
    ['event', second],
    ['event', first],
  ]);
  expect(await of('?kind=award')).toEqual([
    ['event', second],
    ['event', first],
  ]);
  expect(await of('?kind=user_creation')).toEqual([['user_creation', first]]);
  expect(await of('?kind=streak')).toEqual([]);
  expect(await of(`?from=${iso(second)}`)).toEqual([['event', second]]);
  expect(await of(`?from=${iso(first)}&to=${iso(second)}&kind=event`)).toEqual([['event', first]]);
  expect(await of(`?to=${iso(first)}`)).toEqual([]);
});

test('404 for a user never seen or deleted, and nothing of an earlier user of the ID', async () => {
  expect((await read('nobody')).status).toBe(404);
  await event('hal', 1);
  await laurel.admin.post('/v1/streaks/pauses', {
    pauses: [{ userId: 'hal', start: '2026-12-20', end: '2026-12-21' }],
  });
  await laurel.admin.delete('/v1/users?ids=hal');
  expect((await read('hal')).status).toBe(404);
  clock.set(clock.now() + 1000);
  await event('hal', 2);
  await expect.poll(async () => (await timeline('hal')).map(({ kind }) => kind)).toEqual(['event', 'user_creation']);
});

test.each([
  ['cursor=x'],
  ['limit=101'],
  ['kind=level'],
  ['order=up'],
  ['from=yesterday'],
  ['from=2026-12-31T23:59:60Z'],
])('422: %s', async (query) => {
  await event('ida', 1);
  expect((await read('ida', `?${query}`)).status).toBe(422);
});

test('an event that came days late is among the entries of its arrival', async () => {
  clock.set(clock.now() + 86_400_000);
  await event('joy', 1);
  await event('joy', 2);
  await event('joy', 3);
  await timeline('joy');
  const occurred = new Date(clock.now() - 20 * 86_400_000);
  await laurel.pool.query(
    `UPDATE events SET occurred_at = $1, local_date = $1::timestamptz AT TIME ZONE 'UTC' WHERE user_id = 'joy' AND value = 2`,
    [occurred],
  );
  const shown = (entries: TimelineEntry[]) =>
    entries.flatMap((entry) => (entry.kind === 'event' ? [[entry.value, entry.late, entry.occurredAt]] : []));
  const all = [
    [3, false, null],
    [2, true, occurred.toISOString()],
    [1, false, null],
  ];
  expect(shown(await timeline('joy'))).toEqual(all);
  expect(shown(await timeline('joy', '?order=asc'))).toEqual(all.toReversed());
});

test('a reversal is an entry with its actor, linked with what it reverses', async () => {
  await event('kim', 4);
  clock.set(clock.now() + 1000);
  const { eventId } = (await event('kim', 7)).body;
  const reverse = async (id: string) =>
    (await laurel.admin.post(`/v1/events/${id}/reverse`, { revokeAchievements: true })).body.reversalId;
  await timeline('kim');
  const first = await reverse(eventId);
  const second = await reverse(first);
  await expect
    .poll(async () =>
      (await timeline('kim')).flatMap((entry) =>
        entry.kind === 'reversal' ? [[entry.id, entry.reverses, entry.reversedBy, entry.who !== null]] : [],
      ),
    )
    .toEqual([
      [second, first, null, true],
      [first, eventId, second, true],
    ]);
  const entries = await timeline('kim');
  const reversals = entries.flatMap((entry) => (entry.kind === 'reversal' ? [entry] : []));
  expect(reversals.map(({ value, total }) => [value, total])).toEqual([
    [7, 11],
    [-7, 4],
  ]);
  const taken = reversals.map(({ achievements }) => new Set(achievements.map(({ key }) => key)));
  expect(taken).toEqual([new Set(['both', 'ten']), new Set(['both', 'ten'])]);
  expect(entries.find((entry) => entry.kind === 'event' && entry.id === eventId)).toMatchObject({ reversedBy: first });
  expect((await timeline('kim', '?kind=reversal')).map(({ kind }) => kind)).toEqual(['reversal', 'reversal']);
  expect((await timeline('kim', '?kind=event')).map(({ kind }) => kind)).toEqual(['event', 'event']);
  const awarded = entries.flatMap((entry) => ('caused' in entry ? entry.caused : []));
  const sum = awarded.reduce((points, each) => points + (each.kind === 'award' ? each.awarded : 0), 0);
  expect(sum).toBe((await laurel.app.get('/v1/users/kim/points/xp')).body.total);
});
