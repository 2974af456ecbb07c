import type { Catalog, Leaderboard } from '../../src/domain/catalog.ts';
import { groupOf, rankedAmong, type Place } from './boards.ts';
import { addDays, latest, midnight, runOf, wall, type LocalDate, type Run } from './calendar.ts';
import type { ModelUser } from './user.ts';

const HALF_A_DAY_MS = 12 * 3_600_000;

type Move = 'up' | 'stay' | 'down';

interface Cohort {
  /** From 0, the lowest. */
  tier: number;
  /** What its users have in common. */
  of: string;
  users: string[];
}

interface RunOfLeague {
  run: Run;
  /** In the order of their first scores; who has no cohort yet waits. */
  entered: Map<string, { of: string; cohort: Cohort | null }>;
  cohorts: Cohort[];
  /** How users moved; null until the run is closed. */
  moves: Map<string, { move: Move; before: number }> | null;
}

interface League {
  board: Leaderboard;
  tiers: Map<string, number>;
  /** The run in which users get cohorts; null: there is none. */
  open: Run | null;
  runs: Map<LocalDate, RunOfLeague>;
}

/** How a league is shown to a user. */
export interface ShownLeague {
  tier: number;
  rank: number | null;
  move: Move;
  isClosed: boolean;
  secondary: number | null;
  cohort: (Omit<Place, 'metadata'> & { move: Move })[] | null;
}

interface World {
  catalog: Catalog;
  users: Map<string, ModelUser>;
  nowMs: number;
}

/** When a run is final. */
export const finalMs = ({ end }: Run): number => midnight(addDays(end!, 1), null) + HALF_A_DAY_MS;

/** Leagues as docs/leagues.md describes them. */
export class ModelLeagues {
  private readonly world: World;
  /** The part of the tenant in which a user is. */
  private readonly partOf: (userId: string) => number;
  private readonly leagues: League[];

  constructor(world: World, partOf: (userId: string) => number) {
    this.world = world;
    this.partOf = partOf;
    this.leagues = world.catalog.leaderboards
      .filter(({ leagues, status }) => leagues !== null && status === 'active')
      .map((board) => ({ board, tiers: new Map(), runs: new Map(), open: firstOpen(board, world.nowMs) }));
  }

  /** Notes the user's first scores, after everything that may have given one. */
  enter(user: ModelUser): void {
    for (const league of this.leagues) {
      const run = runOf(league.board, wall(this.world.nowMs, user.tz).date);
      if (run === null) continue;
      const at = runIn(league, run);
      const group = groupOf(this.world.catalog, league.board, { user, run });
      if (at.entered.has(user.id) || group === null || this.ranked(league, run, [user.id]).length === 0) continue;
      at.entered.set(user.id, { of: JSON.stringify([this.partOf(user.id), group]), cohort: null });
      if (league.open?.start === run.start) seat(league, at);
    }
  }

  /** Closes the runs that are final now. */
  clockTo(nowMs: number): void {
    for (const league of this.leagues)
      while (league.open !== null && finalMs(league.open) <= nowMs) {
        this.close(league, runIn(league, league.open));
        league.open = runOf(league.board, addDays(league.open.end!, 1));
        if (league.open !== null) seat(league, runIn(league, league.open));
      }
  }

  /** The user's league in a run; null: it is no longer known in which tier the user was. */
  shown(board: Leaderboard, run: Run, userId: string): ShownLeague | null {
    const league = this.leagues.find((one) => one.board.id === board.id)!;
    const { entered, moves } = runIn(league, run);
    const cohort = entered.get(userId)?.cohort ?? null;
    const moved = moves?.get(userId);
    if (moves !== null && cohort === null && moved === undefined) return null;
    const tier = cohort?.tier ?? moved?.before ?? league.tiers.get(userId) ?? 0;
    const places = cohort === null ? [] : this.ranked(league, run, cohort.users);
    // Cohorts show no metadata.
    const rankings = places.map((place) => ({
      userId: place.userId,
      rank: place.rank,
      value: place.value,
      secondary: place.secondary,
      move: moves === null ? moveOf(board, { tier, place, places }) : (moves.get(place.userId)?.move ?? 'stay'),
    }));
    const own = rankings.find((place) => place.userId === userId);
    const absent = board.leagues!.inactive === 'fall' && tier > 0 ? 'down' : 'stay';
    return {
      tier: tier + 1,
      rank: own?.rank ?? null,
      secondary: own?.secondary ?? null,
      move: moves === null ? (own?.move ?? absent) : (moved?.move ?? 'stay'),
      isClosed: moves !== null,
      cohort: cohort === null ? null : rankings,
    };
  }

  private close(league: League, at: RunOfLeague): void {
    const { board, tiers } = league;
    const moves: RunOfLeague['moves'] = new Map();
    for (const { tier, users } of at.cohorts) {
      const places = this.ranked(league, at.run, users);
      for (const place of places) {
        const move = moveOf(board, { tier, place, places });
        if (move !== 'stay') moves.set(place.userId, { move, before: tier });
      }
    }
    if (board.leagues!.inactive === 'fall') {
      const active = this.ranked(league, at.run, [...this.world.users.keys()]).map(({ userId }) => userId);
      for (const [userId, tier] of tiers)
        if (tier > 0 && !active.includes(userId)) moves.set(userId, { move: 'down', before: tier });
    }
    for (const [userId, { move, before }] of moves) tiers.set(userId, move === 'up' ? before + 1 : before - 1);
    at.moves = moves;
  }

  private ranked({ board }: League, run: Run, userIds: readonly string[]): Place[] {
    const users = userIds
      .map((id) => this.world.users.get(id)!)
      .filter((user) => groupOf(this.world.catalog, board, { user, run }) !== null);
    return rankedAmong(board, { run, users });
  }
}

/** The first run that is not final. Runs that ended three days ago are, however many there were. */
export function firstOpen(board: Leaderboard, nowMs: number): Run | null {
  let day = latest(board.start, addDays(wall(nowMs, null).date, -3));
  for (;;) {
    const run = runOf(board, day);
    if (run === null || finalMs(run) > nowMs) return run;
    day = addDays(run.end!, 1);
  }
}

function runIn({ runs }: League, run: Run): RunOfLeague {
  const known = runs.get(run.start) ?? { run, entered: new Map(), cohorts: [], moves: null };
  runs.set(run.start, known);
  return known;
}

/** Gives cohorts to those who wait: the last one of their tier, part and group, or a new one if that is full. */
function seat({ board, tiers }: League, { entered, cohorts }: RunOfLeague): void {
  for (const [userId, place] of entered) {
    if (place.cohort !== null) continue;
    const tier = tiers.get(userId) ?? 0;
    const last = cohorts.findLast((cohort) => cohort.tier === tier && cohort.of === place.of);
    if (last === undefined || last.users.length === board.leagues!.cohortUsers)
      cohorts.push((place.cohort = { tier, of: place.of, users: [userId] }));
    else {
      last.users.push(userId);
      place.cohort = last;
    }
  }
}

/** How a user with a rank in a cohort moves. */
function moveOf(
  { leagues }: Leaderboard,
  { tier, place, places }: { tier: number; place: Pick<Place, 'rank'>; places: readonly Pick<Place, 'rank'>[] },
): Move {
  const { promoted, demoted, tiers } = leagues!;
  if (place.rank <= promoted) return tier + 1 < tiers.length ? 'up' : 'stay';
  const levelOrBehind = places.filter(({ rank }) => rank >= place.rank).length;
  return place.rank > 1 && levelOrBehind <= demoted && tier > 0 ? 'down' : 'stay';
}
