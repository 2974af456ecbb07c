import { systemClock } from '../clock.ts';
import type { Reported } from '../domain/import-outcomes.ts';
import type { ImportedUser } from '../domain/imported-user.ts';
import { addLines, CommandError, cutUnfinished, jsonLines, textLines } from './command.ts';
import { fatalRefusal, type Source, SourceRefusal } from './source.ts';

/** After this many consecutive users without an answer, the source counts as unreachable. */
const MOST_AWAY = 3;

interface Reading {
  source: Source;
  users: string;
  rows: string;
  systemKeys: readonly string[];
  boards: BoardGroups;
  /** Adds lines about users to the import's report. */
  report: { add(lines: readonly Reported[]): Promise<void> };
  concurrency: number;
  /** Reads only the first ones; `undefined` for all. */
  sample: number | undefined;
  onProgress: (text: string) => void;
}

/**
 * Reads users from a source into a file of lines. Skips users who are already in it. A user who cannot be read is
 * reported, and tried again by the next run. Returns the wanted users: the file may have others, of an earlier list. Ends the command if the source refuses the key or stops answering.
 */
export async function readSource(reading: Reading): Promise<ReadonlySet<string>> {
  const { source, rows, systemKeys, boards, report, onProgress } = reading;
  await cutUnfinished(rows);
  const read = new Set<string>();
  for await (const { value } of jsonLines(rows)) {
    const { id, attributes = {} } = value as ReadUser['user'];
    read.add(id);
    boards.see(attributes);
  }
  const ids: string[] = [];
  for await (const id of textLines(reading.users)) {
    if (ids.length === reading.sample) break;
    ids.push(id);
  }
  const left = [...new Set(ids)].filter((id) => !read.has(id));
  let [next, away, done] = [0, 0, ids.length - left.length];
  const ask = (path: string): Promise<unknown> => source.ask(path);
  /** Users whose group on a board was not among those of the users read before them. */
  const buffered: ReadUser[] = [];
  const keep = async ({ user, missing, unread }: ReadUser): Promise<void> => {
    // In this order a process that is killed between the two reads the user again, and no gap is forgotten.
    await report.add([
      { id: user.id, status: 'read', ...(missing.length > 0 && { missing }), ...(unread.length > 0 && { unread }) },
    ]);
    await addLines(rows, [user]);
  };
  /** Runs a step of reading a user. Reports a refusal; ends the command after one that affects every request. */
  const attempt = async (userId: string, step: () => Promise<void>): Promise<void> => {
    try {
      await step();
      away = 0;
    } catch (error) {
      // A server of another kind lacks the fields in its answers.
      if (error instanceof TypeError) {
        const why = 'The source does not answer as the Application API does';
        await report.add([{ id: userId, status: 'unread', why }]);
      } else if (error instanceof SourceRefusal) {
        const fatal = fatalRefusal(error);
        if (fatal !== null) throw fatal;
        if (error.status === 0 || error.status >= 500) away += 1;
        await report.add([{ id: userId, status: 'unread', why: error.message }]);
      } else throw error;
    }
    done += 1;
    onProgress(`${done} of ${ids.length} users read, ${source.requests} requests`);
  };
  const work = async (): Promise<void> => {
    while (next < left.length && away < MOST_AWAY) {
      const userId = left[next++]!;
      await attempt(userId, async () => {
        const one = await readUser(ask, { userId, systemKeys, boards, nowMs: systemClock.now() });
        if (one.ungrouped.length === 0) return keep(one);
        buffered.push(one);
        done -= 1;
      });
    }
  };
  await Promise.all(Array.from({ length: reading.concurrency }, work));
  for (const one of buffered) {
    if (away >= MOST_AWAY) break;
    const { id: userId, attributes = {} } = one.user;
    await attempt(userId, async () => {
      const { groups, ungrouped } = await readGroups(ask, boards, userId, attributes);
      const lost = ungrouped.map(
        (key) => `leaderboards.${key}: the source ranks the user in a group of none of the users read`,
      );
      const user = Object.keys(groups).length > 0 ? { ...one.user, leaderboards: groups } : one.user;
      await keep({ ...one, user, missing: [...one.missing, ...lost] });
    });
  }
  if (away >= MOST_AWAY)
    throw new CommandError('The source no longer answers. Everything read so far is kept: run the same command again.');
  return new Set(ids);
}

export interface ReadUser {
  user: ImportedUser;
  /** Keys of the boards that rank the user in none of the groups tried. */
  ungrouped: string[];
  /** Fields that the source lacks or does not show. */
  missing: string[];
  /** The parts that the source refused, with its reasons. */
  unread: string[];
}

/** Lengths of a streak's history to request; the first one that a server accepts is used. */
const HISTORY_PERIODS = [1_000, 365, 90, 30];
/** The contract's maximum number of awards. */
const AWARDS = 100;
const DAY_MS = 86_400_000;
/** The contract's maximum number of days in an answer. */
const DAYS_A_REQUEST = 400;
/** Late events may have happened before the user was created. */
const DAYS_BEFORE = 400;

type Ask = (path: string) => Promise<unknown>;
// oxlint-disable-next-line typescript/no-explicit-any -- answers of another server: the import checks what is made of them
type Answer = any;

interface ReadFor {
  userId: string;
  /** Keys of the points systems to ask for, since the API does not list them. */
  systemKeys: readonly string[];
  boards?: BoardGroups;
  nowMs: number;
}

/** Reads everything that the contract shows about a user. Failed parts are in `unread`. Throws SourceRefusal. */
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
    const read = (await part(`points.${key}`, () => orNull(ask(`${path}/${of}?awards=${AWARDS}`), 404))) as Answer;
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
  const { groups, ungrouped } = await readGroups(ask, boards, userId, profile.attributes ?? {});
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

/** The periods from the first active one on, plus the idle one before it, which shows that no earlier streak reached it. */
function fromFirst(periods: readonly Answer[]): Answer[] {
  const first = periods.findIndex((each) => each.length > 0 || each.usedFreeze || each.usedPause || each.resetAt);
  return first === -1 ? [] : periods.slice(Math.max(0, first - 1));
}

/** Ranges of days from before the user's creation to tomorrow. */
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

/** `null` means "absent". */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]) =>
      each === null || each === undefined ? [] : [[name, withoutNulls(each)]],
    ),
  );
}

type Groups = NonNullable<ImportedUser['leaderboards']>;
type Values = Record<string, string>;

/** Maximum number of groups of a board to try for a user. */
const MOST_TRIED = 50;

/** The boards with a breakdown, and the groups of their users, which the contract does not list. */
export class BoardGroups {
  readonly boards: readonly { key: string; attributes: readonly string[] }[];
  private readonly seen = new Map<string, Map<string, Values>>();

  /** @param boards of a configuration document */
  constructor(boards: readonly { key: string; breakdownAttributes?: readonly string[] }[]) {
    this.boards = boards.flatMap(({ key, breakdownAttributes: attributes = [] }) =>
      attributes.length === 0 ? [] : [{ key, attributes }],
    );
  }

  see(attributes: Values): void {
    for (const { key, attributes: names } of this.boards) {
      const values = valuesOf(names, attributes);
      if (values === null) continue;
      const seen = this.seen.get(key) ?? new Map<string, Values>();
      this.seen.set(key, seen.set(JSON.stringify(values), values));
    }
  }

  others(key: string, own: Values | null): Values[] {
    const seen = new Map(this.seen.get(key));
    seen.delete(JSON.stringify(own));
    return [...seen.values()].slice(0, MOST_TRIED);
  }
}

function valuesOf(names: readonly string[], attributes: Values): Values | null {
  const values = names.map((name) => [name, attributes[name]] as const);
  return values.some(([, value]) => value === undefined) ? null : (Object.fromEntries(values) as Values);
}

/**
 * Finds the boards that rank a user in another group than that of the user's attributes, because the attributes changed
 * after the last event. `ungrouped`: boards that rank the user in none of the groups known so far; more may become
 * known later. Takes one request for each board, and more for users who are not ranked in their own group. Throws
 * SourceRefusal if the source does not answer.
 */
async function readGroups(
  ask: Ask,
  groups: BoardGroups | undefined,
  userId: string,
  attributes: Values,
): Promise<{ groups: Groups; ungrouped: string[] }> {
  const grouped: Groups = {};
  const ungrouped: string[] = [];
  groups?.see(attributes);
  for (const { key, attributes: names } of groups?.boards ?? []) {
    const own = valuesOf(names, attributes);
    const isIn = (values: Values): Promise<boolean> => isRankedIn(ask, { key, userId, values });
    // The filter separates pairs by commas, so such a group cannot be requested.
    if (own !== null && (Object.values(own).some((value) => value.includes(',')) || (await isIn(own)))) continue;
    const path = `/v1/users/${encodeURIComponent(userId)}/leaderboards/${encodeURIComponent(key)}`;
    const place = (await orNull(ask(path), 404, 422)) as { rank: number | null } | null;
    if (place === null || place.rank === null) continue;
    let group: Values | undefined;
    for (const values of groups!.others(key, own))
      if (await isIn(values)) {
        group = values;
        break;
      }
    if (group === undefined) ungrouped.push(key);
    else grouped[key] = { group };
  }
  return { groups: grouped, ungrouped };
}

async function isRankedIn(
  ask: Ask,
  { key, userId, values }: { key: string; userId: string; values: Values },
): Promise<boolean> {
  const filter = Object.entries(values)
    .map(([name, value]) => `${name}:${value}`)
    .join(',');
  const query = new URLSearchParams({ limit: '1', userId, userAttributes: filter });
  const page = (await orNull(ask(`/v1/leaderboards/${encodeURIComponent(key)}?${query.toString()}`), 404, 422)) as {
    rankings: { userId: string }[];
  } | null;
  return page?.rankings[0]?.userId === userId;
}

/** The answer; `null` if it has one of these statuses. */
async function orNull(answer: Promise<unknown>, ...statuses: number[]): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof SourceRefusal && statuses.includes(error.status)) return null;
    throw error;
  }
}
