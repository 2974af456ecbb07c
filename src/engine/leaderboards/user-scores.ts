import type { Pool } from 'pg';
import { compileBoard } from '../../catalog/compile/boards.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import { clamped, decimalNumber } from '../../domain/decimal.ts';
import { floorOf } from '../../domain/leaderboard.ts';
import { epochDay } from '../../domain/periods.ts';
import { HISTORY_SUM } from '../../packed/call-fields.ts';
import { emptyHistorySum } from '../../packed/packed-arrays.ts';
import type { HistorySum } from '../../packed/state.ts';
import { historySums, type HistorySums, type PastScore } from '../../postgres/boards/past-scores.ts';
import { caughtUp, type Filling as RuleFilling, setScores, streakScore } from '../../rules/board-filling.ts';
import { groupOf, runScore, type RunScore } from '../../rules/leaderboards.ts';
import type { User } from '../../rules/user.ts';
import { changeEach, type ChangeEachOptions, type EachChange } from '../changes/change-each.ts';
import { untilCurrent } from '../backfills/user-slices.ts';
import { type BoardHistory, offsetsOf } from './board-history.ts';
import { decodeUser } from '../../rules/user-codec.ts';

export interface UserScoresOptions extends ChangeEachOptions {
  pool: Pool;
  clock: Clock;
  /** Called with a user who has to be left out. */
  onLeftOut: (user: { tenantNo: number; boardNo: number; userId: string }, error: Error) => void;
}

/** For this many tries the sums must match the state exactly. Then the increase of a busy user is added. */
const EXACT_TRIES = 10;

interface Filling {
  compiled: CompiledCatalog;
  board: Leaderboard;
  history: BoardHistory;
  /** `openRunDay`: first day of the first run that Redis holds; `null` if all runs are past. */
  fill: { tenantNo: number; boardNo: number; openRunDay: number | null };
}

/** Sets users' scores from history, not adding, so a repetition changes nothing. Changed users are summed again. */
export function createUserScores(options: UserScoresOptions) {
  const { onLeftOut, pool, clock } = options;

  /** Sets users' scores in open runs. Returns how many users have any, and the users with scores in past runs. */
  async function set(
    filling: Filling,
    users: readonly { id: string; state: Buffer }[],
  ): Promise<{ scored: number; done: SummedUser[] }> {
    const all: SummedUser[] = [];
    if (users.length === 0 || filling.history.runDays.length === 0) return { scored: 0, done: all };
    const scored = new Set<string>();
    const busy = await untilCurrent(users, async (some, tries) => {
      const sums = await sumsOf(filling, some);
      const outcomes = await call(
        filling,
        sums.filter(({ open }) => open !== null),
        tries < EXACT_TRIES,
      );
      const again = new Set(sums.filter(({ id }) => outcomes.get(id)?.outcome === 'outdated').map(({ id }) => id));
      const done = sums.filter(({ id }) => !again.has(id));
      for (const { id, past } of done) if (past.length > 0 || outcomes.get(id)?.outcome === 'scored') scored.add(id);
      all.push(...done);
      return some.filter(({ id }) => again.has(id));
    });
    leaveOut(filling.fill, busy);
    return { scored: scored.size, done: all };
  }

  /** Gives up on users who never stop changing: they have what they earn from now on. */
  function leaveOut({ tenantNo, boardNo }: Filling['fill'], users: readonly { id: string }[]): void {
    const error = new Error('The user keeps changing: earlier scores are left out.');
    for (const { id: userId } of users) onLeftOut({ tenantNo, boardNo, userId }, error);
  }

  async function sumsOf(
    { board, history, fill }: Filling,
    users: readonly { id: string; state: Buffer }[],
  ): Promise<SummedUser[]> {
    const { counted, runDays, lastDay, window } = history;
    const { tenantNo, openRunDay } = fill;
    const first = runDays[0]!;
    const rows =
      counted === null
        ? users.map(({ id, state }) => ({ id, state, sums: [emptyHistorySum(first, 0)] }))
        : await historySums(pool, {
            tenantNo,
            ids: users.map(({ id }) => id),
            counted,
            runDays,
            lastDay,
            times: window && {
              ...window,
              offsets: offsetsOf(
                users.map(({ id, state }) => ({ userId: id, tz: decodeUser(state).zone })),
                { fromDay: first, nowMs: clock.now() },
              ),
            },
          });
    return rows.map((row) => summed(row, board, openRunDay));
  }

  /** Sets the scores of open runs. Returns what became of each user who exists. */
  async function call(
    { compiled, board, history, fill }: Filling,
    users: readonly SummedUser[],
    exact: boolean,
  ): Promise<Map<string, FilledUser>> {
    const nowMs = clock.now();
    const { plan } = compiled.userPlan(epochDay(nowMs));
    const days = [plan.firstDay, plan.firstDay + 1, plan.firstDay + 2];
    const metric = compiled.metricsById.get(board.metricId ?? '') ?? null;
    const compiledBoard = compileBoard(compiled, board, { metric, days });
    const filling = { plan, board: compiledBoard, metric: metric?.no ?? null, nowMs };
    const changes = users.map(({ id: userId, open, state }) => ({ userId, sums: open!.map(runScore), state }));
    const filled = await changeEach(options, fill.tenantNo, changes, (user, { sums, state }, packed): FilledUser => {
      if (history.counted === null) {
        const [first, ...others] = sums;
        const length = streakScore(decodeUser(packed), plan, nowMs);
        return filledUser(user, [{ ...first!, whole: length }, ...others], filling);
      }
      if (packed.equals(state)) return filledUser(user, sums, filling);
      const scores = exact ? null : caughtUp(sums, user, decodeUser(state), filling);
      return scores === null ? { records: [], outcome: 'outdated' } : filledUser(user, scores, filling);
    });
    return new Map(filled.flatMap((each, index) => (each === null ? [] : [[users[index]!.id, each]])));
  }

  return { set };
}

/** `outdated`: the user has changed since the sums were made, and must be summed up again. */
interface FilledUser extends EachChange {
  outcome: 'scored' | 'unscored' | 'outdated';
}

function filledUser(user: User, scores: readonly RunScore[], filling: RuleFilling): FilledUser {
  const { changes, isOn } = setScores(user, scores, filling);
  const effects = { completed: [], quests: [], ledgers: [], scores: changes };
  return { records: changes.length === 0 ? [] : [{ record: null, effects }], outcome: isOn ? 'scored' : 'unscored' };
}

/** A user's scores on a board: in past runs, and in those that Redis holds. */
interface SummedUser {
  id: string;
  /** The packed state that the sums match. */
  state: Buffer;
  past: HistorySum[];
  /** `null` if the user has no score and none to remove. */
  open: HistorySum[] | null;
}

/** Splits a user's sums at the first run that Redis holds (`null`: none). Previous scores without a source become 0 or are removed. */
function summed({ id, state, sums }: HistorySums, board: Leaderboard, openRunDay: number | null): SummedUser {
  const floor = floorOf(board);
  const past = sums.filter(
    (sum) =>
      (openRunDay === null || sum[HISTORY_SUM.runDay] < openRunDay) &&
      (sum[HISTORY_SUM.whole] > floor || (floor === 0 && sum[HISTORY_SUM.micros] > 0)),
  );
  if (openRunDay === null) return { id, state, past, open: null };
  const open = sums.filter((sum) => sum[HISTORY_SUM.runDay] >= openRunDay);
  for (const { board: no, runDay } of decodeUser(state).scores)
    if (no === board.no && runDay >= openRunDay && !open.some((sum) => sum[HISTORY_SUM.runDay] === runDay))
      open.push(emptyHistorySum(runDay, floor));
  return { id, state, past, open: open.length === 0 ? null : open };
}

/** The scores of past runs, in the users' current groups. A user who is hidden or lacks a value is left out. */
export function pastScores(compiled: CompiledCatalog, board: Leaderboard, users: readonly SummedUser[]): PastScore[] {
  const groups = board.breakdownAttributes.map((id) => compiled.attributesById.get(id)?.no ?? 0);
  return users
    .filter(({ past }) => past.length > 0)
    .flatMap(({ id, state, past }) => {
      const user = decodeUser(state);
      const group = groupOf({ groups }, user);
      if (user.hidden !== 0 || group === null) return [];
      return past.map((sum) => ({
        userId: id,
        runDay: sum[HISTORY_SUM.runDay],
        group,
        score: decimalNumber(clamped({ whole: sum[HISTORY_SUM.whole], micros: sum[HISTORY_SUM.micros] })),
        reached: Math.abs(sum[HISTORY_SUM.reached] ?? 0),
        secondary: sum[HISTORY_SUM.secondary] ?? null,
      }));
    });
}
