import { beforeAll, expect, test } from 'vitest';
import { FixedClock } from '../../../../src/clock.ts';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { opened } from '../../../stack/opened.ts';

const MORNING = Date.parse('2026-03-10T08:00:00Z');
const DAY_MS = 86_400_000;
const USERS = 2_300;

const clock = new FixedClock(MORNING);
const idOf = (no: number): string => `user-${String(no).padStart(4, '0')}`;

const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true, clock }));
beforeAll(async () => {
  for (let from = 0; from < USERS; from += 1_000) {
    const events = Array.from({ length: Math.min(1_000, USERS - from) }, (_, index) => ({
      key: 'minutes',
      user: { id: idOf(from + index), attributes: { plan: (from + index) % 1_000 === 999 ? 'pro' : 'free' } },
      value: 1,
    }));
    await laurel.admin.post('/v1/metrics/events?wait=true', events);
  }
  clock.set(MORNING + DAY_MS);
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: idOf(5) }, value: 20 });
});

interface Page {
  users: { id: string }[];
  next: string | null;
  examined: number;
}
const page = async (query: string): Promise<Page> => {
  const { status, body } = await laurel.admin.get(`/v1/filtered-users?${query}`);
  expect([status, body]).toEqual([200, body]);
  return body;
};
/** The IDs that all calls together find. */
async function everyone(filter: string): Promise<string[]> {
  const found: string[] = [];
  for (let after = ''; ;) {
    const { users, next } = await page(`${filter}&limit=100${after}`);
    found.push(...users.map(({ id }) => id));
    if (next === null) return found;
    after = `&after=${next}`;
  }
}

test('users are found by an attribute, in the order of their IDs, over several calls', async () => {
  expect(await everyone('userAttributes=plan:pro')).toEqual([idOf(999), idOf(1_999)]);
});

test('a call examines 2,000 users at most, and says where to go on', async () => {
  const first = await page('userAttributes=plan:none');
  expect(first).toEqual({ users: [], next: idOf(1_999), examined: 2_000 });
  const second = await page(`userAttributes=plan:none&after=${first.next}`);
  expect(second).toEqual({ users: [], next: null, examined: USERS - 2_000 });
});

test('a page that is full goes on after its last user', async () => {
  const first = await page('userAttributes=plan:free&limit=2');
  expect([first.users.map(({ id }) => id), first.next]).toEqual([[idOf(0), idOf(1)], idOf(1)]);
});

test('users are found by streak, level and last change, all of which must hold', async () => {
  const since = new Date(MORNING + DAY_MS).toISOString();
  expect(await everyone('minStreak=2')).toEqual([idOf(5)]);
  expect(await everyone(`seenFrom=${since}`)).toEqual([idOf(5)]);
  expect(await everyone(`seenBefore=${since}`)).toHaveLength(USERS - 1);
  const { key: system, id } = (await laurel.admin.get('/v1/points')).body[0];
  const levels = (await laurel.admin.get(`/v1/points/${id}/levels`)).body as { key: string; points: number }[];
  const { total, level } = (await laurel.app.get(`/v1/users/${idOf(5)}/points/${system}`)).body;
  const reached = levels.filter(({ points }) => points <= total).toSorted((a, b) => b.points - a.points)[0]!;
  expect(level.key).toBe(reached.key);
  expect(await everyone(`level=${system}:${reached.key}&minStreak=2`)).toEqual([idOf(5)]);
  expect(await everyone(`level=${system}:${reached.key}&seenBefore=${since}&minStreak=2`)).toEqual([]);
});

test.each(['userAttributes=colour:red', 'level=xp', 'level=xp:none', 'level=none:novice'])(
  '%s is refused',
  async (query) => {
    expect((await laurel.admin.get(`/v1/filtered-users?${query}`)).status).toBe(422);
  },
);

test('frequent values of an attribute are counted, of users and of events', async () => {
  const attributes = (await laurel.admin.get('/v1/attributes?limit=100')).body as { key: string; id: string }[];
  const valuesOf = async (key: string) =>
    (await laurel.admin.get(`/v1/attributes/${attributes.find((one) => one.key === key)!.id}/values`)).body;
  let plans: { value: string; count: number }[] = [];
  // The answer is empty if Postgres takes longer than half a second.
  await expect.poll(async () => (plans = await valuesOf('plan'))).not.toEqual([]);
  expect(plans[0]!.value).toBe('free');
  expect(plans.reduce((sum, { count }) => sum + count, 0)).toBe(2_000);
  await laurel.app.post('/v1/metrics/flips/event', {
    user: { id: idOf(5) },
    value: 1,
    attributes: { deck: 'languages' },
  });
  await expect.poll(() => valuesOf('deck')).toEqual([{ value: 'languages', count: 1 }]);
  expect((await laurel.admin.get(`/v1/attributes/${crypto.randomUUID()}/values`)).status).toBe(404);
});

test('the groups of a leaderboard are counted, largest first', async () => {
  const boards = (await laurel.admin.get('/v1/leaderboards?limit=100')).body as {
    id: string;
    breakdownAttributes: string[];
  }[];
  const grouped = boards.find(({ breakdownAttributes }) => breakdownAttributes.length > 0)!;
  const plain = boards.find(({ breakdownAttributes }) => breakdownAttributes.length === 0)!;
  for (const no of [0, 1, 999]) await laurel.app.post('/v1/metrics/flips/event', { user: { id: idOf(no) }, value: 3 });
  const { status, body } = await laurel.admin.get(`/v1/leaderboards/${grouped.id}/groups`);
  expect([status, body]).toEqual([
    200,
    [
      { userAttributes: { plan: 'free' }, users: 3 },
      { userAttributes: { plan: 'pro' }, users: 1 },
    ],
  ]);
  expect((await laurel.admin.get(`/v1/leaderboards/${plain.id}/groups`)).body).toEqual([]);
  expect((await laurel.admin.get(`/v1/leaderboards/${crypto.randomUUID()}/groups`)).status).toBe(404);
});
