import type { TestLaurel } from '../../laurel.ts';

/** Fields with a tenant's own IDs: the same catalog in another tenant has different ones. */
const OWN = new Set(['id', 'metricId', 'achievementId', 'achievementIds', 'breakdownAttribute']);
/** When a resource was created; for a user this is part of the history. */
const MADE = new Set(['created', 'updated']);

/**
 * Daily values do not contain the attributes of events or their number, which decides the most active periods; a day whose
 * events add up to 0 has none. So a wrapped of imported daily values may differ in these fields.
 */
const OF_EVENTS = new Set([
  'byAttribute',
  'daysActive',
  'weeksActive',
  'monthsActive',
  'mostActiveDay',
  'mostActiveWeek',
  'mostActiveMonth',
]);

/** An answer without the differences between two tenants of the same catalog. */
export function normal(answer: unknown, isUser = true): unknown {
  if (Array.isArray(answer)) return answer.map((each) => normal(each, false));
  if (typeof answer !== 'object' || answer === null) return answer;
  return Object.fromEntries(
    Object.entries(answer).flatMap(([name, value]) => {
      if (OWN.has(name) || OF_EVENTS.has(name) || (MADE.has(name) && !isUser)) return [];
      // Ended runs do not change: a year has only leaderboards with a single run.
      if (name === 'leaderboards' && !Array.isArray(value)) return [[name, ofOneRun(value as object)]];
      return [[name, normal(value, name === 'user')]];
    }),
  );
}

const ofOneRun = (boards: object): unknown =>
  normal(
    Object.fromEntries(Object.entries(boards).filter(([, board]) => (board as { runUnit?: string }).runUnit === null)),
  );

interface Read {
  tenantId: string;
  users: readonly string[];
  /** Days of histories. */
  from: string;
  to: string;
}

/** The answer of every read of the Application API, by path. */
export async function readsOf(
  { app }: TestLaurel,
  { tenantId, users, from, to }: Read,
): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  const paths = [
    '/v1/achievements',
    '/v1/achievements?userAttributes=plan:pro',
    `/v1/streaks?${users.map((id) => `userIds=${encodeURIComponent(id)}`).join('&')}`,
    ...['xp', 'coins'].flatMap((key) => [
      `/v1/points/${key}`,
      `/v1/points/${key}/summary`,
      `/v1/points/${key}/summary?userAttributes=plan:pro`,
      `/v1/points/${key}/levels`,
    ]),
    '/v1/points/xp/level-summary',
    '/v1/leaderboards',
    ...['flips', 'weekly', 'streaks', 'coins'].map((key) => `/v1/leaderboards/${key}?limit=100`),
    '/v1/leaderboards/plans?userAttributes=plan:pro',
    ...users.flatMap((id) => pathsOf(id, { from, to })),
  ];
  for (const path of paths) {
    const { status, body } = await app.get(path, { tenantId });
    answers[path] = { status, body: normal(body) };
  }
  return answers;
}

function pathsOf(id: string, { from, to }: Pick<Read, 'from' | 'to'>): string[] {
  const user = `/v1/users/${encodeURIComponent(id)}`;
  const days = `startDate=${from}&endDate=${to}`;
  const summaries = (of: string): string[] =>
    ['daily', 'weekly', 'monthly'].map(
      (aggregation) => `${user}/${of}/event-summary?aggregation=${aggregation}&${days}`,
    );
  return [
    user,
    `${user}/preferences`,
    `${user}/metrics`,
    ...['flips', 'minutes'].flatMap((key) => [`${user}/metrics/${key}`, ...summaries(`metrics/${key}`)]),
    `${user}/achievements`,
    `${user}/achievements?includeIncomplete=true`,
    `${user}/streak?historyPeriods=80`,
    ...['xp', 'coins'].flatMap((key) => [
      `${user}/points/${key}?awards=100`,
      `${user}/points/${key}/boosts`,
      ...summaries(`points/${key}`),
    ]),
    ...['flips', 'weekly', 'plans', 'streaks', 'coins'].map((key) => `${user}/leaderboards/${key}?numEvents=0`),
    `${user}/wrapped`,
  ];
}
