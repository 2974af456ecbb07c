import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import {
  BEFORE_APPLIED_MS,
  boundsOf,
  creationPosition,
  FIRST_POSITION,
  firstIdAt,
  LAST_POSITION,
  POSITION_KIND,
  msOf,
  positionOf,
  type QuarantineEntry,
  type SpendingEntry,
  type TimelineEntry,
  type TimelinePage,
  type TimelineQuery,
} from '../../domain/administration/timeline.ts';
import { uuidText } from '../../domain/schemas.ts';
import type { User } from '../../rules/user.ts';
import { balanceChangesIn, type BalanceChangeRow } from '../../postgres/balance-changes.ts';
import { type QuarantineRow, unreleasedOf } from '../../postgres/corrections/quarantine.ts';
import { detailsFrom } from '../../postgres/partitions.ts';
import {
  awardCauses,
  awardsOf,
  completionsOf,
  eventIds,
  eventsOf,
  reversalIds,
  type TimelineCompletionRow,
} from '../../postgres/timeline/events.ts';
import {
  auditRows,
  finalRows,
  leagueRows,
  mergeRows,
  recomputationIds,
  recomputationsOf,
  type RowsQuery,
  streakRows,
  type TimelineAuditRow,
  type TimelineFinalRow,
  type TimelineLeagueRow,
  type TimelineMergeRow,
  type TimelineStreakRow,
  type TimelineRange,
} from '../../postgres/timeline/entries.ts';
import { quarantinedAnswer } from '../corrections/quarantine.ts';
import { balanceChangeAnswer } from '../points/balances.ts';
import { spanOf } from '../span.ts';
import type { UserReads } from '../users/user-reads.ts';
import { CatalogThen } from './catalog-then.ts';
import { loadCauses } from './effects.ts';
import {
  administrationEntry,
  creationEntry,
  finalEntry,
  happeningEntry,
  leagueEntry,
  mergeEntry,
  streakEntry,
} from './entries.ts';
import { type Happening, happenings } from './happening.ts';
import { inSequence } from './sequence.ts';
import { groupedBy } from '../../grouped.ts';

/** Most entries of one millisecond that are put in sequence: as many as a batch has. More stay in the order of their IDs. */
const MOST_AT_ONCE = 1_000;

/** Far more awards than one call makes: enough to see whether the user's creation made any. */
const AT_ONCE = 20;

interface TimelineOptions {
  pool: Pool;
  /** Reads users whose rows in Postgres are at least as new as their states. */
  users: Pick<UserReads, 'state'>;
}

interface UserHistory {
  compiled: CompiledCatalog;
  userId: string;
  state: User;
  completions: Completions;
}

/** The history of a user with causes, from data that is stored anyway. */
export function createTimeline({ users, pool }: TimelineOptions) {
  /**
   * A page of a user's history, in the order in which Laurel recorded it. Includes everything answered before the call;
   * entries that arrive while a client pages do not shift the pages. Cost: O(limit) index steps for each metric and
   * points system of the user, plus O(entries of the user by the clock and by administrators). Throws 404 for an
   * unknown user, 422 for invalid times, 503 while Postgres is too far behind.
   */
  async function page(compiled: CompiledCatalog, userId: string, query: TimelineQuery): Promise<TimelinePage> {
    const { fromMs, toMs } = spanOf(query);
    const { tenantNo } = compiled.catalog;
    const state = await users.state(tenantNo, userId);
    const completions = await completionsByCause(pool, { tenantNo, userId });
    const newest = query.order === 'desc';
    const above = fromMs === null ? FIRST_POSITION : firstIdAt(fromMs - BEFORE_APPLIED_MS);
    const below = toMs === null ? LAST_POSITION : firstIdAt(toMs);
    const range = { tenantNo, userId, above, below, newest, limit: query.limit + 1 };
    const from = { pool, range, completions, createdMs: state.createdMs };
    const history = { compiled, userId, state, completions };
    let cursor = query.cursor ?? null;
    for (;;) {
      const happenings = await following(history, from, query.kind, cursor);
      const page = happenings.slice(0, query.limit);
      const entries = (await entriesOf(history, page)).filter(
        // An event's reversal is stored as an event.
        ({ kind, at }) =>
          (query.kind !== 'event' || kind === 'event') &&
          (fromMs === null || Date.parse(at) >= fromMs) &&
          (toMs === null || Date.parse(at) < toMs),
      );
      cursor = happenings.length > query.limit ? page.at(-1)!.position : null;
      if (entries.length > 0 || cursor === null) {
        return { entries, detailsFrom: await detailsFrom(pool), nextCursor: cursor };
      }
    }
  }

  /** The items behind the cursor, in order: up to the limit. */
  async function following(
    asked: UserHistory,
    from: Source,
    kind: TimelineQuery['kind'],
    cursor: string | null,
  ): Promise<TimelineItem[]> {
    const { newest, limit } = from.range;
    const cursorMs = cursor === null ? null : msOf(cursor);
    const together = cursorMs === null ? null : await atOnce(asked, from, kind, cursorMs);
    const at = together?.findIndex(({ position }) => position === cursor) ?? -1;
    const items = together === null || at < 0 ? [] : together.slice(at + 1);
    let bounds: Partial<TimelineRange> = {};
    if (cursorMs !== null && at >= 0)
      bounds = newest ? { below: firstIdAt(cursorMs) } : { above: firstIdAt(cursorMs + 1) };
    else if (cursor !== null) bounds = newest ? { below: cursor } : { above: cursor };
    const missing = limit - items.length;
    if (missing <= 0) return items.slice(0, limit);
    const further = await firstOf(within(from, { ...bounds, limit: missing }), kind);
    for (const group of byMs(further)) {
      const ms = msOf(group[0]!.position);
      const mayContinue = further.length === missing && group.at(-1) === further.at(-1);
      // With too many entries at once, pages follow the order of IDs.
      if (ms === cursorMs || group.length === 1) items.push(...group);
      else if (mayContinue) items.push(...((await atOnce(asked, from, kind, ms)) ?? group));
      else items.push(...(await ordered(asked, group, newest)));
    }
    return items.slice(0, limit);
  }

  /** All items of one millisecond, in order; `null` if there are too many. */
  async function atOnce(
    asked: UserHistory,
    from: Source,
    kind: TimelineQuery['kind'],
    ms: number,
  ): Promise<TimelineItem[] | null> {
    const range = { above: firstIdAt(ms), below: firstIdAt(ms + 1), limit: MOST_AT_ONCE + 1 };
    const happenings = await firstOf(within(from, range), kind);
    return happenings.length > MOST_AT_ONCE ? null : ordered(asked, happenings, from.range.newest);
  }

  /** Puts the happenings among items of one millisecond in the order in which they were applied. */
  async function ordered(history: UserHistory, happenings: TimelineItem[], newest: boolean): Promise<TimelineItem[]> {
    const positions = happenings.flatMap(({ is, position }) => (is === 'happening' ? [position] : []));
    if (positions.length < 2) return happenings;
    const sequence = inSequence(await happeningsOf(history, positions));
    if (newest) sequence.reverse();
    return happenings.map((one) => (one.is === 'happening' ? { ...one, position: sequence.shift()! } : one));
  }

  /** Converts what was found to entries; parts that another entry shows are omitted. */
  async function entriesOf(history: UserHistory, happenings: readonly TimelineItem[]): Promise<TimelineEntry[]> {
    const { compiled, state } = history;
    const { catalog } = compiled;
    const then = new CatalogThen(pool, catalog.tenantNo, catalog.streaks.frequency);
    const positions = happenings.flatMap(({ is, position }) => (is === 'happening' ? [position] : []));
    const happened = new Map((await happeningsOf(history, positions)).map((one) => [one.position, one]));
    await then.load(
      happenings.flatMap((one) =>
        one.is === 'final' || one.is === 'league'
          ? [one.row.boardNo]
          : one.is === 'quarantine'
            ? [one.row.metricNo]
            : one.is === 'spending'
              ? [one.row.systemNo]
              : [],
      ),
    );
    await loadCauses(then, [...happened.values()]);
    const attributes = Array.from(state.attributes.keys(), (no) => compiled.attributesByNo.get(no)?.id ?? '');
    const user = { tz: state.zone, attributeIds: new Set(attributes), createdMs: state.createdMs };
    const entries: TimelineEntry[] = [];
    for (const one of happenings) {
      const { position } = one;
      let entry: TimelineEntry | null = null;
      if (one.is === 'happening') entry = happeningEntry(happened.get(position)!, then, user);
      else if (one.is === 'streak') entry = streakEntry(position, one.row);
      else if (one.is === 'final') entry = finalEntry(position, one.row, then);
      else if (one.is === 'league') entry = leagueEntry(position, one.row, then, compiled);
      else if (one.is === 'quarantine') entry = quarantineEntry(compiled, one.row, then);
      else if (one.is === 'spending') entry = spendingEntry(compiled, one.row, then);
      else if (one.is === 'merge') entry = mergeEntry(position, one.row);
      else if (one.is === 'audit') entry = administrationEntry(position, one.row);
      else if (!(await hasAwardedAtCreation(history))) entry = creationEntry(position, state.createdMs);
      if (entry !== null) entries.push(entry);
    }
    return entries;
  }

  async function happeningsOf(
    { compiled, userId, completions }: UserHistory,
    positions: readonly string[],
  ): Promise<Happening[]> {
    if (positions.length === 0) return [];
    const of = { tenantNo: compiled.catalog.tenantNo, userId };
    const [events, awards] = [await eventsOf(pool, of, positions), await awardsOf(pool, of, positions)];
    const recomputations = await recomputationsOf(pool, of, positions);
    return happenings(positions, { events, recomputations, awards, completions });
  }

  /** Whether the user's creation made awards without an event; the creation is then shown at their position. */
  async function hasAwardedAtCreation(history: UserHistory): Promise<boolean> {
    const { compiled, userId, state, completions } = history;
    const { createdMs } = state;
    const causes = await awardCauses(pool, {
      tenantNo: compiled.catalog.tenantNo,
      userId,
      above: firstIdAt(createdMs - BEFORE_APPLIED_MS),
      below: firstIdAt(createdMs + 1),
      newest: false,
      limit: AT_ONCE,
    });
    const happened = await happeningsOf(history, causes);
    return happened.some(
      ({ position, event, awards }) =>
        event === null && !completions.has(position) && awards.some(({ at }) => at.getTime() === createdMs),
    );
  }

  return { page };
}

/** An item at its position in a timeline. An item that only has a position is looked up by it (`happening.ts`). */
type TimelineItem =
  | { position: string; is: 'happening' }
  | { position: string; is: 'creation' }
  | { position: string; is: 'streak'; row: TimelineStreakRow }
  | { position: string; is: 'final'; row: TimelineFinalRow }
  | { position: string; is: 'league'; row: TimelineLeagueRow }
  | { position: string; is: 'quarantine'; row: QuarantineRow }
  | { position: string; is: 'spending'; row: BalanceChangeRow }
  | { position: string; is: 'merge'; row: TimelineMergeRow }
  | { position: string; is: 'audit'; row: TimelineAuditRow };

type Completions = ReadonlyMap<string, TimelineCompletionRow[]>;

/** All completions of a user. A completion without a recorded cause has a position of its own. */
async function completionsByCause(pool: Pool, user: { tenantNo: number; userId: string }): Promise<Completions> {
  return groupedBy(
    await completionsOf(pool, user),
    ({ at, achievementNo: number, causedBy }) =>
      causedBy ?? positionOf({ atMs: at.getTime(), kind: POSITION_KIND.completion, number }),
  );
}

interface Source {
  pool: Pool;
  range: TimelineRange;
  completions: Completions;
  createdMs: number;
}

/** The sources of a timeline. Each returns its items in the range, in order, up to the limit. */
const SOURCES: Record<string, (from: Source) => Promise<TimelineItem[]>> = {
  event: async ({ pool, range }) => happening(await eventIds(pool, range)),
  reversal: async ({ pool, range }) => happening(await reversalIds(pool, range)),
  // At the position of the event that it becomes if it is released.
  quarantine: async ({ pool, range }) =>
    (await unreleasedOf(pool, range)).map((row) => ({ position: uuidText(row.id), is: 'quarantine', row })),
  spending: async ({ pool, range }) =>
    (await balanceChangesIn(pool, range)).map((row) => ({ position: uuidText(row.id), is: 'spending', row })),
  recomputation: async ({ pool, range }) => happening(await recomputationIds(pool, range)),
  award: async ({ pool, range }) => happening(await awardCauses(pool, range)),
  achievement: async ({ completions, range }) => happening(inRange([...completions.keys()], range)),
  user_creation: async ({ createdMs, range }) =>
    inRange([creationPosition(createdMs)], range).map((position) => ({ position, is: 'creation' })),
  streak: async ({ pool, range }) =>
    placed(POSITION_KIND.streak, await streakRows(pool, rowsQuery(POSITION_KIND.streak, range)), (row) => ({
      is: 'streak',
      row,
    })),
  leaderboard: async ({ pool, range }) =>
    placed(POSITION_KIND.leaderboard, await finalRows(pool, rowsQuery(POSITION_KIND.leaderboard, range)), (row) => ({
      is: 'final',
      row,
    })),
  league: async ({ pool, range }) =>
    placed(POSITION_KIND.league, await leagueRows(pool, rowsQuery(POSITION_KIND.league, range)), (row) => ({
      is: 'league',
      row,
    })),
  merge: async ({ pool, range }) =>
    (await mergeRows(pool, range)).map((row) => ({ position: row.id, is: 'merge', row })),
  administration: async ({ pool, range }) =>
    placed(
      POSITION_KIND.administration,
      await auditRows(pool, rowsQuery(POSITION_KIND.administration, range)),
      (row) => ({ is: 'audit', row }),
    ),
};

/** A source within further bounds. */
function within(
  from: Source,
  { above = FIRST_POSITION, below = LAST_POSITION, limit }: Partial<TimelineRange>,
): Source {
  const { range } = from;
  const bounds = { above: above > range.above ? above : range.above, below: below < range.below ? below : range.below };
  return { ...from, range: { ...range, ...bounds, ...(limit !== undefined && { limit }) } };
}

/** Items in order, by millisecond. */
function byMs(happenings: readonly TimelineItem[]): TimelineItem[][] {
  const groups: TimelineItem[][] = [];
  for (const one of happenings) {
    const last = groups.at(-1);
    if (last !== undefined && msOf(last[0]!.position) === msOf(one.position)) last.push(one);
    else groups.push([one]);
  }
  return groups;
}

async function firstOf(from: Source, kind: TimelineQuery['kind']): Promise<TimelineItem[]> {
  const { newest, limit } = from.range;
  const sources = kind === undefined ? Object.values(SOURCES) : [SOURCES[kind]!];
  const byPosition = new Map<string, TimelineItem>();
  for (const source of sources) for (const each of await source(from)) byPosition.set(each.position, each);
  return [...byPosition.values()].toSorted((a, b) => (newest === a.position < b.position ? 1 : -1)).slice(0, limit);
}

const happening = (positions: readonly string[]): TimelineItem[] =>
  positions.map((position) => ({ position, is: 'happening' }));

const inRange = (positions: string[], { above, below, newest, limit }: TimelineRange): string[] =>
  positions
    .filter((position) => position > above && position < below)
    .toSorted((a, b) => (newest === a < b ? 1 : -1))
    .slice(0, limit);

const rowsQuery = (kind: number, { tenantNo, userId, above, below, newest, limit }: TimelineRange): RowsQuery => ({
  tenantNo,
  userId,
  bounds: boundsOf(kind, above, below),
  newest,
  limit,
});

const placed = <Row extends { atMs: number; no: number }, F>(
  kind: number,
  rows: readonly Row[],
  found: (row: Row) => F,
): (F & { position: string })[] =>
  rows.map((row) => ({ ...found(row), position: positionOf({ atMs: row.atMs, kind, number: row.no }) }));

const spendingEntry = (compiled: CompiledCatalog, row: BalanceChangeRow, then: CatalogThen): SpendingEntry => {
  const change = balanceChangeAnswer(compiled, row);
  return {
    ...change,
    kind: 'spending',
    position: change.id,
    at: change.createdAt,
    pointsSystem: then.namedNo(row.systemNo),
  };
};

/** An event that a guard holds, or held until it was dropped. Its metric must be loaded. */
function quarantineEntry(compiled: CompiledCatalog, row: QuarantineRow, then: CatalogThen): QuarantineEntry {
  const { id, at, guard, value, attributes, idempotencyKey, status, settled } = quarantinedAnswer(compiled, row);
  return {
    kind: 'quarantine',
    position: id,
    at,
    id,
    metric: then.namedNo(row.metricNo),
    guard,
    value,
    attributes,
    idempotencyKey,
    status,
    settled,
  };
}
