import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { dateOf, dayOf, FREQUENCIES, isoTime } from '../../domain/periods.ts';
import { dayIn } from '../../domain/zone.ts';
import { SETTLEMENT_KINDS } from '../../postgres/persist/streaks.ts';
import type {
  AchievementEntry,
  AdministrationEntry,
  ClockEntry,
  EventEntry,
  LeaderboardEntry,
  LeagueEntry,
  MergeEntry,
  RecomputationEntry,
  ReversalEntry,
  StreakEntry,
} from '../../domain/administration/timeline.ts';
import type {
  TimelineAuditRow,
  TimelineFinalRow,
  TimelineLeagueRow,
  TimelineMergeRow,
  TimelineStreakRow,
} from '../../postgres/timeline/entries.ts';
import type { CatalogThen } from './catalog-then.ts';
import { causedBy, completedOf, triggerOf, type UserNow } from './effects.ts';
import { thenOf, type Happening } from './happening.ts';

/** An entry with its effects; `null` if its rows are gone. */
export function happeningEntry(
  happening: Happening,
  then: CatalogThen,
  user: UserNow & { createdMs: number },
): EventEntry | ReversalEntry | RecomputationEntry | AchievementEntry | ClockEntry | null {
  const when = thenOf(happening);
  if (when === null) return null;
  const { position, event } = happening;
  const placed = { position, at: isoTime(when.atMs) };
  if (event?.reverses)
    return reversalEntry(event.reverses, event, { placed, catalog: then, caused: causedBy(then, happening, user) });
  if (event !== null) {
    return {
      kind: 'event',
      ...placed,
      id: event.id,
      metric: then.namedNo(event.metricNo),
      value: event.value,
      total: event.total,
      localDate: event.localDate,
      occurredAt: event.occurredAt?.toISOString() ?? null,
      late: event.occurredAt !== null && dayOf(event.localDate) < dayIn(user.tz, when.atMs),
      attributes: event.attributes ?? {},
      idempotencyKey: event.idempotencyKey,
      reversedBy: event.reversedBy,
      caused: causedBy(then, happening, user),
    };
  }
  if (happening.recomputation !== null) {
    const { recomputation } = happening;
    return recomputationEntry(recomputation, placed, then, causedBy(then, happening, user));
  }
  const [first, ...others] = inOrder(then, happening.completions);
  if (first !== undefined) {
    return {
      kind: 'achievement',
      ...placed,
      ...completedOf(then, first, when),
      by: first.backdated ? 'backdating' : BY[triggerOf(then, first) ?? 'metric'],
      caused: causedBy(then, { ...happening, completions: others }, user),
    };
  }
  const kind = when.atMs === user.createdMs ? 'user_creation' : 'time';
  return { kind, ...placed, caused: causedBy(then, happening, user) };
}

const reversalEntry = (
  reverses: string,
  event: NonNullable<Happening['event']>,
  around: { placed: { position: string; at: string }; catalog: CatalogThen; caused: ReversalEntry['caused'] },
): ReversalEntry => ({
  kind: 'reversal',
  ...around.placed,
  id: event.id,
  reverses,
  metric: around.catalog.namedNo(event.metricNo),
  value: event.value,
  total: event.total,
  localDate: event.localDate,
  who: event.who,
  achievements: event.achievementNos.map((no) => around.catalog.namedNo(no)),
  reversedBy: event.reversedBy,
  caused: around.caused,
});

const recomputationEntry = (
  { recomputationId, reverts, who, gained, lost }: NonNullable<Happening['recomputation']>,
  placed: { position: string; at: string },
  catalog: CatalogThen,
  caused: RecomputationEntry['caused'],
): RecomputationEntry => ({
  kind: 'recomputation',
  ...placed,
  recomputationId,
  action: reverts ? 'reverted' : 'applied',
  who,
  gained: gained.map((no) => catalog.namedNo(no)),
  lost: lost.map((no) => catalog.namedNo(no)),
  caused,
});

/** The causes of completions without an event. */
const BY = { api: 'call', anniversary: 'clock', rank: 'clock', metric: null, streak: null, achievement: null } as const;

/** Composites follow the achievements that they require. */
function inOrder(then: CatalogThen, completions: Happening['completions']): Happening['completions'] {
  const isComposite = (one: Happening['completions'][number]): boolean => triggerOf(then, one) === 'achievement';
  return completions.toSorted((a, b) => Number(isComposite(a)) - Number(isComposite(b)));
}

/** The creation of a user, without effects of its own. */
export const creationEntry = (position: string, createdMs: number): ClockEntry => ({
  kind: 'user_creation',
  position,
  at: isoTime(createdMs),
  caused: [],
});

export function streakEntry(position: string, row: TimelineStreakRow): StreakEntry {
  const change = SETTLEMENT_KINDS[row.kind - 1]!;
  return {
    kind: 'streak',
    position,
    at: isoTime(row.atMs),
    change: change === 'off' ? 'dayOff' : change,
    frequency: FREQUENCIES[row.frequency - 1] ?? 'daily',
    start: dateOf(row.fromDay),
    end: dateOf(row.toDay),
    length: row.length,
    who: row.who,
    correction: row.correction,
    supersededBy: row.supersededBy,
  };
}

export const finalEntry = (position: string, row: TimelineFinalRow, then: CatalogThen): LeaderboardEntry => ({
  kind: 'leaderboard',
  position,
  at: isoTime(row.atMs),
  leaderboard: then.namedNo(row.boardNo),
  start: dateOf(row.runDay),
  end: dateOf(row.lastDay),
  rank: row.participates ? row.rank : null,
  value: row.score,
});

/** Tiers have the names that the leaderboard gives them now. */
export function leagueEntry(
  position: string,
  row: TimelineLeagueRow,
  catalog: CatalogThen,
  compiled: CompiledCatalog,
): LeagueEntry {
  const leagues = compiled.leaderboardsByNo.get(row.boardNo)?.leagues ?? null;
  const tier = (number: number): LeagueEntry['tier'] => ({
    number: number + 1,
    name: leagues?.tiers[number]?.name ?? null,
  });
  return {
    kind: 'league',
    position,
    at: isoTime(row.atMs),
    leaderboard: catalog.namedNo(row.boardNo),
    start: dateOf(row.runDay),
    tier: tier(row.tier),
    previousTier: tier(row.tierBefore),
    rank: row.rank,
  };
}

export const mergeEntry = (position: string, { from, into, who, at }: TimelineMergeRow): MergeEntry => ({
  kind: 'merge',
  position,
  at: at.toISOString(),
  from,
  into,
  who,
});

export const administrationEntry = (position: string, row: TimelineAuditRow): AdministrationEntry => ({
  kind: 'administration',
  position,
  at: isoTime(row.atMs),
  who: row.who,
  action: row.action,
  subject: row.kind,
  resourceId: row.id,
  before: row.before,
  after: row.after,
});
