import type { Answer } from './shadow-exchange.ts';

export interface Difference {
  /** For example `points.xp.total` or `rankings[].rank`. */
  path: string;
  source: unknown;
  laurel: unknown;
}

interface Comparing {
  /** The client sent its own idempotency key. */
  hasIdempotencyKey: boolean;
  /** Also compare fields that depend on other users, such as ranks. */
  withShared: boolean;
  /** Names or paths of fields that the operator excluded. */
  ignored: readonly string[];
}

/** Fields that only Laurel has. */
export const OWN_FIELDS: readonly string[] = [
  'guarded',
  'guard',
  'action',
  'pendingLeaderboards',
  'levelKey',
  'hidden',
  'idempotencyConflict',
  'achievementProgress',
  'repeat',
  'requires',
  'secret',
  'timesCompleted',
  'period',
  'days',
  'progress',
  'completed',
  'aggregate',
  'order',
  'ties',
  'secondaryAttributeKey',
  'secondaryOrder',
  'secondaryScore',
  'full',
  'percentile',
  'participants',
  'balance',
  'leaderboardId',
  'rankFrom',
  'rankTo',
  'rankPercent',
  'rewards',
  'metadata',
];
const SHARED_FIELDS = ['rank', 'previousRank', 'rankings', 'completions', 'rarity', 'percentileThisPeriod', 'users'];
const IDEMPOTENCY_FIELDS = ['idempotencyKey', 'idempotentReplayed'];

/** IDs that a client chooses are the same on both sides; all others are the server's own. */
const isServerId = (name: string): boolean => /(^id|Ids?)$/.test(name) && name !== 'userId';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;
const isTime = (value: unknown): value is string => typeof value === 'string' && TIME.test(value);
/** Times that differ by less count as equal, since the two servers act one after the other. */
const TIME_TOLERANCE_MS = 86_400_000;
/** Relative: sums of decimals may differ in the last digit. */
const NUMBER_TOLERANCE = 1e-9;

/**
 * The fields in which Laurel's answer differs from the source's. Ignores IDs that a server chooses, times less than a
 * day apart, error texts, Laurel's own fields, `null` compared with a missing field, and the order of named items.
 */
export function differencesOf(source: Answer, laurel: Answer, options: Comparing): Difference[] {
  if (source.status !== laurel.status)
    return [{ path: 'status', source: statusText(source), laurel: statusText(laurel) }];
  if (source.status >= 400) return [];
  const found: Difference[] = [];
  compare(source.body, laurel.body, { path: '', name: '', found, options });
  return found;
}

function statusText({ status, body }: Answer): string | number {
  const error = (Object(body) as { error?: unknown }).error;
  return typeof error === 'string' ? `${status} ${error}` : status;
}

/** Fields whose names are configured keys instead of contract fields. */
const MAPS = ['attributes', 'metrics', 'points', 'leaderboards'];

interface At {
  path: string;
  /** Name of the field itself; empty for list items and for configured keys. */
  name: string;
  found: Difference[];
  options: Comparing;
}

function compare(source: unknown, laurel: unknown, at: At): void {
  if (isIgnored(at)) return;
  if (Array.isArray(source) && Array.isArray(laurel)) compareLists(source, laurel, at);
  else if (isObject(source) && isObject(laurel)) {
    for (const name of new Set([...Object.keys(source), ...Object.keys(laurel)])) {
      const path = at.path === '' ? name : `${at.path}.${name}`;
      compare(own(source, name), own(laurel, name), { ...at, path, name: MAPS.includes(at.name) ? '' : name });
    }
  } else if (!areEqual(source ?? undefined, laurel ?? undefined)) at.found.push({ path: at.path, source, laurel });
}

function isIgnored({ path, name, options }: At): boolean {
  if (OWN_FIELDS.includes(name) || isServerId(name)) return !isUserId(path);
  if (!options.withShared && SHARED_FIELDS.includes(name)) return true;
  if (!options.hasIdempotencyKey && IDEMPOTENCY_FIELDS.includes(name)) return true;
  return options.ignored.some((each) => path === each || path.endsWith(`.${each}`));
}

/** `user.id` of a wrapped year. */
const isUserId = (path: string): boolean => path.endsWith('user.id');

function areEqual(source: unknown, laurel: unknown): boolean {
  if (source === laurel) return true;
  if (typeof source === 'number' && typeof laurel === 'number')
    return Math.abs(source - laurel) <= NUMBER_TOLERANCE * Math.max(Math.abs(source), Math.abs(laurel));
  return isTime(source) && isTime(laurel) && Math.abs(Date.parse(source) - Date.parse(laurel)) < TIME_TOLERANCE_MS;
}

/** Fields that can name a list item. The first one counts that all items have with distinct values. */
const ITEM_NAMES = ['userId', 'key', 'date', 'periodStart', 'from', 'start', 'name'];

function compareLists(source: readonly unknown[], laurel: readonly unknown[], at: At): void {
  const inside = { ...at, path: `${at.path}[]`, name: '' };
  const field = ITEM_NAMES.find((name) => isNameOf(source, name) && isNameOf(laurel, name));
  if (field === undefined) {
    for (let index = 0; index < Math.max(source.length, laurel.length); index += 1)
      compare(source[index], laurel[index], inside);
    return;
  }
  const byName = new Map(laurel.map((item) => [own(item as object, field), item]));
  for (const item of source) {
    const name = own(item as object, field);
    compare(item, byName.get(name), inside);
    byName.delete(name);
  }
  for (const item of byName.values()) compare(undefined, item, inside);
}

function isNameOf(items: readonly unknown[], field: string): boolean {
  const values = items.map((item) => (isObject(item) ? own(item, field) : undefined));
  return (
    values.every((value) => (typeof value === 'string' || typeof value === 'number') && !isTime(value)) &&
    new Set(values).size === values.length
  );
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const own = (value: object, name: string): unknown =>
  Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
