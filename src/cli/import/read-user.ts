import type { ImportedUser } from '../../domain/imported-user.ts';
import { readGroups, type BoardGroups } from './read-groups.ts';
import { SourceRefusal } from './source-refusal.ts';

/** A user as read, in the form of a line. */
export interface ReadUser {
  user: ImportedUser;
  /** Keys of the boards that rank the user in none of the groups that were tried. */
  ungrouped: string[];
  /** Fields that the source does not have or does not show. */
  missing: string[];
  /** The parts that the source refused to give, with its reasons. */
  unread: string[];
}

/** As much of a streak's history as a server gives: the first number that it accepts. */
const HISTORY_PERIODS = [1_000, 365, 90, 30];
/** The most awards that the contract gives. */
const AWARDS = 100;
const DAY_MS = 86_400_000;
/** The most days that the contract gives in one answer. */
const DAYS_A_REQUEST = 400;
/** Late events may have happened before the user was first seen. */
const DAYS_BEFORE = 400;

type Ask = (path: string) => Promise<unknown>;
// oxlint-disable-next-line typescript/no-explicit-any -- answers of another server: the import checks what is made of them
type Answer = any;

/** What users are read for. */
export interface ReadFor {
  userId: string;
  /** Keys of the points systems to ask for, since the API does not list them. */
  systemKeys: readonly string[];
  /** The boards with a breakdown. */
  boards?: BoardGroups;
  nowMs: number;
}

/**
 * Reads all that the Application API of the contract says of a user. Throws SourceRefusal if the user itself cannot be read; other parts that cannot be are `unread`.
 */
export async function readUser(ask: Ask, { userId, systemKeys, boards, nowMs }: ReadFor): Promise<ReadUser> {
  const path = `/v1/users/${encodeURIComponent(userId)}`;
  const profile = (await ask(path)) as Answer;
  const missing: string[] = [];
  const unread: string[] = [];
  const part = async <T>(field: string, read: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof SourceRefusal) || error.status === 0 || error.status >= 500) throw error;
      unread.push(`${field}: the source answers ${error.message}`);
      return undefined;
    }
  };
  const dates = rangesOf(profile.created, nowMs);
  const days = async (of: string): Promise<Record<string, number>> => {
    const changes: Record<string, number> = {};
    for (const range of dates) {
      const entries = (await ask(`${path}/${of}/event-summary?aggregation=daily&${range}`)) as Answer[];
      for (const { date, change } of entries) if (change !== 0) changes[String(date).slice(0, 10)] = change;
    }
    return changes;
  };
  const preferences = await part('preferences', () => ask(`${path}/preferences`));
  const achievements = (await part('achievements', () => ask(`${path}/achievements`))) as Answer[] | undefined;
  const streak = await part('streak', () => readStreak(ask, path));
  const metrics: NonNullable<ImportedUser['metrics']> = {};
  for (const { key, current } of ((await part('metrics', () => ask(`${path}/metrics`))) ?? []) as Answer[]) {
    const ofMetric = await part(`metrics.${key}.days`, () => days(`metrics/${encodeURIComponent(key)}`));
    if (current !== 0 || Object.keys(ofMetric ?? {}).length > 0)
      metrics[key] = { total: current, ...(ofMetric !== undefined && { days: ofMetric }) };
  }
  const points: NonNullable<ImportedUser['points']> = {};
  for (const key of systemKeys) {
    const of = `points/${encodeURIComponent(key)}`;
    const read = (await part(`points.${key}`, () => orNone(ask(`${path}/${of}?awards=${AWARDS}`)))) as Answer;
    if (read === null) missing.push(`points.${key}: the source has no points system of this key`);
    if (read === undefined || read === null) continue;
    const ofPoints = await part(`points.${key}.days`, () => days(of));
    points[key] = {
      total: read.total,
      ...(ofPoints !== undefined && { days: ofPoints }),
      awards: (read.awards as Answer[]).map(awardOf),
    };
    if (read.awards.length === AWARDS)
      missing.push(`points.${key}.awards: those before the last ${AWARDS} come as sums of their days`);
  }
  const { groups, ungrouped } = await readGroups(ask, boards, { userId, attributes: profile.attributes ?? {} });
  const user = withoutNulls({
    ...picked(profile, PROFILE),
    id: userId,
    ...(Object.keys(metrics).length > 0 && { metrics }),
    ...(achievements !== undefined && { achievements: achievements.map((each) => picked(each, COMPLETION)) }),
    streak,
    ...(Object.keys(points).length > 0 && { points }),
    ...(Object.keys(groups).length > 0 && { leaderboards: groups }),
    preferences: preferences && picked(preferences, ['notifications', 'streak', 'leaderboards']),
  }) as unknown as ImportedUser;
  return { user, missing, unread, ungrouped };
}

const PROFILE = [
  'name',
  'email',
  'tz',
  'signUpDate',
  'deviceTokens',
  'subscribeToEmails',
  'attributes',
  'created',
  'updated',
];
const COMPLETION = ['id', 'key', 'name', 'achievedAt'];
const PERIOD = ['periodStart', 'periodEnd', 'length', 'usedFreeze', 'usedPause', 'resetAt'];
const TRIGGER = [
  'id',
  'type',
  'points',
  'metricName',
  'metricThreshold',
  'streakLengthThreshold',
  'achievementName',
  'timeUnit',
  'timeInterval',
];

/** The answer; `null` if the source does not know the resource. */
async function orNone(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof SourceRefusal && error.status === 404) return null;
    throw error;
  }
}

const picked = (from: Answer, fields: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(fields.flatMap((field) => (from[field] === undefined ? [] : [[field, from[field]]])));

const awardOf = ({ awarded, date, total, trigger, boosts }: Answer): Answer => ({
  awarded,
  date,
  total,
  ...(trigger && { trigger: picked(trigger, TRIGGER) }),
  ...(boosts?.length > 0 && { boosts: (boosts as Answer[]).map((boost) => picked(boost, ['id', 'name'])) }),
});

async function readStreak(ask: Ask, path: string): Promise<object> {
  for (const [index, periods] of HISTORY_PERIODS.entries()) {
    try {
      const read = (await ask(`${path}/streak?historyPeriods=${periods}`)) as Answer;
      return {
        ...picked(read, ['frequency', 'length', 'started', 'expires', 'extended', 'freezes']),
        history: fromFirst(read.streakHistory as Answer[]).map((each) => picked(each, PERIOD)),
        pauses: (read.pauses as Answer[] | undefined)?.map((pause) => picked(pause, ['start', 'end'])) ?? [],
      };
    } catch (error) {
      const isBound = error instanceof SourceRefusal && (error.status === 422 || error.status === 400);
      if (!isBound || index === HISTORY_PERIODS.length - 1) throw error;
    }
  }
  throw new Error('unreachable');
}

/** The periods from the first on in which there was anything: one without before it says that no earlier streak reached it. */
function fromFirst(periods: readonly Answer[]): Answer[] {
  const first = periods.findIndex((each) => each.length > 0 || each.usedFreeze || each.usedPause || each.resetAt);
  return first === -1 ? [] : periods.slice(Math.max(0, first - 1));
}

/** Ranges of days from before the user was seen to tomorrow. */
function rangesOf(created: unknown, nowMs: number): string[] {
  const createdMs = typeof created === 'string' ? Date.parse(created) : Number.NaN;
  const date = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
  const last = nowMs + DAY_MS;
  const ranges = [];
  const firstMs = Math.max(0, (Number.isNaN(createdMs) ? nowMs - 3_650 * DAY_MS : createdMs) - DAYS_BEFORE * DAY_MS);
  for (let from = firstMs; from <= last; from += DAYS_A_REQUEST * DAY_MS)
    ranges.push(`startDate=${date(from)}&endDate=${date(Math.min(last, from + (DAYS_A_REQUEST - 1) * DAY_MS))}`);
  return ranges;
}

/** Null means "not there". */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]) =>
      each === null || each === undefined ? [] : [[name, withoutNulls(each)]],
    ),
  );
}
